import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { Command } from 'commander'
import { parseUsers, putUser, removeUser } from '../auth/htpasswd.ts'
import { askPassword, CommandError, print } from './terminal.ts'
import { wholeNumber } from './values.ts'

interface FileOption {
  readonly file: string
}

/** `manager-edge user …`: the users file (htpasswd with bcrypt). A running edge reads a changed file by itself. */
export function userCommand(): Command {
  const file = ['--file <file>', 'the users file that access.users names', 'users'] as const
  const user = new Command('user').description('make and change the users file')
  user
    .command('add <name>')
    .description('add a user, or give one another password (typed, or the first line of standard input)')
    .option(...file)
    .option('--generate', 'make up a password and print it')
    .option('--cost <n>', 'work of a login: 10 is about 50 ms, each step doubles it', wholeNumber(4, 15), 10)
    .action(add)
  user
    .command('remove <name>')
    .description('take a user out')
    .option(...file)
    .action(remove)
  user
    .command('list')
    .description('print the names of all users')
    .option(...file)
    .action(list)
  return user
}

async function add(name: string, options: FileOption & { generate?: true; cost: number }): Promise<void> {
  const password = options.generate ? randomBytes(18).toString('base64url') : await askPassword()
  const result = await putUser(options.file, name, password, options.cost)
  if (options.generate) print(`password: ${password}`)
  print(`${result} ${name} in ${options.file}`)
  if (result === 'added') print(`now give the user a role in the settings: access.roles: { ${name}: [reader] }`)
}

async function remove(name: string, { file }: FileOption): Promise<void> {
  if (!(await removeUser(file, name))) throw new CommandError(`${file} holds no user ${name}; "user list" shows them`)
  print(`removed ${name} from ${file}`)
}

async function list({ file }: FileOption): Promise<void> {
  const { users, faults } = parseUsers(await readFile(file, 'utf8'))
  for (const name of users.keys()) print(name)
  if (faults.length > 0) throw new CommandError(`${file}: ${faults.join('; ')}`)
}
