/** `manager-edge user`: edits the users file (htpasswd with bcrypt). A running edge reloads the file. */
import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { parseUsers, putUser, removeUser } from '../access/users-file.ts'
import { CommandError, print, promptNewPassword } from './terminal.ts'

interface FileOption {
  readonly file: string
}

/** A shorter password can be guessed from a stolen users file. */
const MIN_PASSWORD_LENGTH = 12

interface AddOptions extends FileOption {
  readonly generate?: true
  readonly force?: true
  readonly cost: number
}

/** Adds a user, or replaces the password of a user. */
export async function addUser(name: string, options: AddOptions): Promise<void> {
  const password = options.generate ? randomBytes(18).toString('base64url') : await promptNewPassword()
  const { length } = [...password]
  if (length < MIN_PASSWORD_LENGTH && !options.force) {
    throw new CommandError(
      `the password has ${length} characters; use at least ${MIN_PASSWORD_LENGTH}, or --generate (--force accepts it)`,
    )
  }
  const result = await putUser(options.file, name, password, options.cost)
  if (options.generate) print(`password: ${password}`)
  print(`${result} ${name} in ${options.file}`)
  if (result === 'added') print(`next, give the user a role in the configuration: access.roles: { ${name}: [reader] }`)
}

export async function deleteUser(name: string, { file }: FileOption): Promise<void> {
  if (!(await removeUser(file, name))) throw new CommandError(`${file} has no user ${name}; "user list" lists them`)
  print(`removed ${name} from ${file}`)
}

export async function listUsers({ file }: FileOption): Promise<void> {
  const { users, faults } = parseUsers(await readFile(file, 'utf8'))
  for (const name of users.keys()) print(name)
  if (faults.length > 0) throw new CommandError(`${file}: ${faults.join('; ')}`)
}
