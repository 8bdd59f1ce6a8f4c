#!/usr/bin/env node
/** The command line: runs one command. An error becomes one line and an exit code. */
import addCompletion from '@bomb.sh/tab/commander'
import { Command, CommanderError } from 'commander'
import { commit, description, version } from './app/process.ts'
import { commands } from './cli/commands.ts'
import { CommandError, printError } from './cli/terminal.ts'
import { EXIT_CODES } from './server/exit.ts'

const program = new Command('manager-edge')
  .description(description)
  .version(commit === '' ? version : `${version} (commit ${commit.slice(0, 12)})`, '-V, --version')
  .showHelpAfterError('(--help lists the options)')
for (const command of await commands()) program.addCommand(command)
addCompletion(program, { completionCommandName: 'completion' })
throwInsteadOfExit(program)
// A reader that ends early, as in `manager-edge routes | head`, is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))

try {
  await program.parseAsync()
} catch (error) {
  process.exitCode = reportError(error)
}

/** Prints the error, unless commander has printed it. Returns the exit code. */
function reportError(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT_CODES.ok : EXIT_CODES.configuration
  printError(describeError(error))
  return error instanceof CommandError ? error.exitCode : EXIT_CODES.failed
}

/** Errors of the file system name a system call and a code; the remedy is the same for all of them. */
function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { code, path, message }: NodeJS.ErrnoException = error
  if (code === undefined || path === undefined) return message
  return `${path} cannot be opened (${code}); check the path and the permissions of this user`
}

function throwInsteadOfExit(command: Command): void {
  command.exitOverride()
  for (const each of command.commands) throwInsteadOfExit(each)
}
