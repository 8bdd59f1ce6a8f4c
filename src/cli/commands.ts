import { Command, InvalidArgumentError } from 'commander'
import type { DemoOptions } from './demo.ts'
import type { WarmOptions } from './warm.ts'

/** What there is to call. What a command does is loaded when it runs: a list of users needs no web framework. */

const config = ['--config <file>', 'settings (YAML); default: the file that EDGE_CONFIG names'] as const
const usersFile = ['--file <file>', 'the users file that access.users names', 'users'] as const

/** All commands, each with its help; a mistake is thrown as a `CommandError`, or told by commander. */
export function commands(version: string): Command[] {
  return [start(), demo(), check(), user(), token(), warm(), routes(), openApi(version), audit()]
}

function start(): Command {
  return new Command('start')
    .description('run the edge with a file of settings')
    .option(...config)
    .addHelpText('after', '\nEnds with 0 after a signal, 1 where it cannot start, 2 where settings are wrong.')
    .action(async (options: { config?: string }) => {
      process.exitCode = await (await import('../server.ts')).startFromFile(options.config)
    })
}

function demo(): Command {
  const port = wholeNumber(0, 65_535)
  return new Command('demo')
    .description('run the edge in front of a simulated cluster')
    .option('--port <n>', 'port of the API; 0: any', port, 55_000)
    .option('--operations-port <n>', 'port of the operations listener; 0: any', port, 55_001)
    .option('--agents <n>', 'agents of the cluster', wholeNumber(1, 100_000), 100)
    .option('--workers <n>', 'workers beside the master', wholeNumber(0, 50), 2)
    .option('--seed <n>', 'the same number gives the same cluster', wholeNumber(0, 999_999_999), 1)
    .option('--user-password <password>', 'of all three users, for scripts; default: made up at start')
    .action(async (options: DemoOptions) => {
      process.exitCode = await (await import('./demo.ts')).demo(options)
    })
}

function check(): Command {
  return new Command('check')
    .description('check the settings and every file that they name')
    .option(...config)
    .option('--connect', 'also ask every node for its version, and try Redis')
    .addHelpText('after', '\nEnds with 0 when all is well, 1 where it could not start, 2 where settings are wrong.')
    .action(async (options) => (await import('./check.ts')).check(options))
}

function user(): Command {
  const group = new Command('user').description('make and change the users file')
  group
    .command('add <name>')
    .description('add a user, or give one another password (typed, or the first line of standard input)')
    .option(...usersFile)
    .option('--generate', 'make up a password and print it')
    .option('--cost <n>', 'work of a login: 10 is about 50 ms, each step doubles it', wholeNumber(4, 15), 10)
    .action(async (name, options) => (await import('./user.ts')).addUser(name, options))
  group
    .command('remove <name>')
    .description('take a user out')
    .option(...usersFile)
    .action(async (name, options) => (await import('./user.ts')).takeOutUser(name, options))
  group
    .command('list')
    .description('print the names of all users')
    .option(...usersFile)
    .action(async (options) => (await import('./user.ts')).listUsers(options))
  return group
}

function token(): Command {
  const group = new Command('token').description('make keys that sign tokens, and tokens')
  group
    .command('key <folder>')
    .description('make a new key in the folder that access.tokens.keys names; the newest one signs')
    .action(async (folder) => (await import('./token.ts')).makeKey(folder))
  group
    .command('issue <user>')
    .description('print a token for a user, signed by the newest key')
    .option(...config)
    .action(async (name, options) => (await import('./token.ts')).issueToken(name, options))
  return group
}

function audit(): Command {
  const group = new Command('audit').description('look after the audit')
  group
    .command('verify <files...>')
    .description('find lines that were changed, taken out, put in or moved (all files of one replica)')
    .option('--last <digest>', 'the digest that the last line must have, noted elsewhere')
    .addHelpText('after', '\nEnds with 0 when all is well, 1 where a line is wrong.')
    .action(async (files, options) => (await import('./reports.ts')).verify(files, options))
  return group
}

function warm(): Command {
  return new Command('warm')
    .description('fill the cache of a running edge')
    .requiredOption('--url <url>', 'address of the edge')
    .option('--from <file>', 'a list of paths or URLs, one on each line')
    .option('--busiest <n>', 'the n URLs with most hits of what is kept; needs cache:read', wholeNumber(1, 1_000_000))
    .option('--list', 'print these URLs instead, for a later --from')
    .option('--user <name>', 'who asks; the password is typed, or the first line of standard input')
    .option('--token-file <file>', 'a file with a token instead; "token issue" prints one')
    .option('--ca <file>', 'PEM of the CA of the certificate of the edge')
    .option(
      '--operations <url>',
      'address of its operations listener: goes by how full the nodes are; needs operations:read',
    )
    .option('--concurrency <n>', 'requests at once at most; begins with one', wholeNumber(1, 64), 2)
    .addHelpText('after', '\nEnds with 0 when every URL was answered, 1 when some failed, 2 for wrong options.')
    .action(async (options: WarmOptions) => (await import('./warm.ts')).warm(options))
}

function routes(): Command {
  return new Command('routes')
    .description('list every endpoint')
    .action(async () => (await import('./reports.ts')).writeRoutes())
}

function openApi(version: string): Command {
  return new Command('openapi')
    .description('write the OpenAPI document of the API (JSON)')
    .option('--server <url>', 'address of the edge, as clients write it')
    .action(async (options) => (await import('./reports.ts')).writeOpenApi(version, options))
}

/** Reads an option as a whole number within bounds; what is none is refused with the bounds. */
export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
    if (value >= least && value <= most) return value
    throw new InvalidArgumentError(`Give a whole number from ${least} to ${most}.`)
  }
}
