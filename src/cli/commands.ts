/** All commands with their help. The code of a command is loaded when the command runs. */
import { Command } from 'commander'
import { EXIT_CODES, reloadOnSignal } from '../server/exit.ts'
import { addedCommands } from './added-commands.ts'
import { addNotes } from './help.ts'
import { NO_FILE, parseInteger, printError } from './terminal.ts'

const config = ['--config <file>', 'configuration file (YAML); default: the file named by EDGE_CONFIG'] as const
const usersFile = ['--file <file>', 'the users file (access.users)', 'users'] as const

/** A wrong option is thrown as a `CommandError`, or reported by commander. */
export async function commands(): Promise<readonly Command[]> {
  return [start(), ...(await addedCommands()), check(), printedConfig(), user(), token(), audit()]
}

function start(): Command {
  return new Command('start')
    .description('run the edge with a configuration file')
    .option(...config)
    .addHelpText('after', '\nExit codes: 0 after a signal, 1 if it cannot start, 2 if the configuration is invalid.')
    .action(async (options: { config?: string }) => {
      process.exitCode = await startFromFile(options.config)
    })
}

/** Resolves to the exit code. */
async function startFromFile(file: string | undefined): Promise<number> {
  // Before the configuration is read: a change after that needs a reload.
  const reloadWith = reloadOnSignal()
  const { loadConfig } = await import('../config/index.ts')
  const loaded = await loadConfig({ file })
  if (loaded.ok) {
    return (await import('../server.ts')).run(loaded.config, {
      ...loaded,
      load: () => loadConfig({ file }),
      reloadWith,
    })
  }
  if (loaded.file === undefined) printError(NO_FILE)
  for (const fault of loaded.faults) process.stderr.write(`${fault}\n`)
  return EXIT_CODES.configuration
}

function check(): Command {
  return new Command('check')
    .description('check the configuration and every file that it names')
    .option(...config)
    .option('--connect', 'also connect to every node and to Redis')
    .addHelpText('after', '\nExit codes: 0 if all is well, 1 if it could not start, 2 if the configuration is invalid.')
    .action(async (options) => (await import('./check.ts')).check(options))
}

function printedConfig(): Command {
  const group = new Command('config').description('show the configuration')
  const print = group
    .command('print')
    .description('print every setting with its effective value and its origin; secrets are masked')
    .option(...config)
    .option('--changed', 'without the settings that have their defaults')
    .option('--json', 'print JSON')
    .action(async (options) => (await import('./config-print.ts')).printConfig(options))
  addNotes(print, {
    exitCodes: '0, or 2 if the configuration is wrong',
    examples: ['config print --config /etc/edge/edge.yaml --changed', 'config print --config edge.yaml --json'],
  })
  return group
}

function user(): Command {
  const group = new Command('user').description('edit the users file')
  group
    .command('add <name>')
    .description('add a user or replace a password (prompted, or the first line of standard input)')
    .option(...usersFile)
    .option('--generate', 'generate a password and print it')
    .option('--force', 'accept a password of fewer than 12 characters')
    .option('--cost <n>', 'bcrypt cost: 10 takes about 50 ms per login, each step doubles it', parseInteger(4, 15), 10)
    .action(async (name, options) => (await import('./user.ts')).addUser(name, options))
  group
    .command('remove <name>')
    .description('remove a user')
    .option(...usersFile)
    .action(async (name, options) => (await import('./user.ts')).deleteUser(name, options))
  group
    .command('list')
    .description('print the names of all users')
    .option(...usersFile)
    .action(async (options) => (await import('./user.ts')).listUsers(options))
  return group
}

function token(): Command {
  const group = new Command('token').description('create signing keys and tokens')
  group
    .command('key <folder>')
    .description('create a key in the folder access.tokens.keys; the newest key signs')
    .action(async (folder) => (await import('./token.ts')).createKey(folder))
  group
    .command('issue <user>')
    .description('print a token for a user, signed by the newest key')
    .option(...config)
    .action(async (name, options) => (await import('./token.ts')).issueToken(name, options))
  return group
}

function audit(): Command {
  const group = new Command('audit').description('verify the audit')
  group
    .command('verify <files...>')
    .description('find changed, removed, inserted or moved records (all files of one replica)')
    .option('--last <digest>', 'the digest that the last record must have, noted elsewhere')
    .addHelpText('after', '\nExit codes: 0 if all is well, 1 if a record is wrong.')
    .action(async (files, options) => (await import('./audit.ts')).printAuditFaults(files, options))
  return group
}
