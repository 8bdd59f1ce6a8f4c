#!/usr/bin/env node
/** The command line: runs one command, and turns what went wrong into one line and an exit code. */
import { Command, CommanderError } from 'commander'
import { description, version } from './app/package.ts'
import { commands } from './cli/commands.ts'
import { CommandError, complain } from './cli/terminal.ts'
import { exitCodes } from './server/exit.ts'

const program = new Command('manager-edge')
  .description(description)
  .version(version, '-V, --version')
  .showHelpAfterError('(--help shows what there is)')
for (const command of commands(version)) program.addCommand(command)
throwInsteadOfExit(program)
// `manager-edge routes | head`: the reader has seen enough, which is no fault.
process.stdout.on('error', (fault: NodeJS.ErrnoException) => process.exit(fault.code === 'EPIPE' ? 0 : 1))

try {
  await program.parseAsync()
} catch (fault) {
  process.exitCode = exitCodeOf(fault)
}

/** What commander itself finds wrong it has told already; the others are one line each. */
function exitCodeOf(fault: unknown): number {
  if (fault instanceof CommanderError) return fault.exitCode === 0 ? exitCodes.ended : exitCodes.settings
  complain(inWords(fault))
  return fault instanceof CommandError ? fault.exitCode : exitCodes.failed
}

/** The system's own words name a call and a code; what to do is the same for all of them. */
function inWords(fault: unknown): string {
  if (!(fault instanceof Error)) return String(fault)
  const { code, path, message }: NodeJS.ErrnoException = fault
  if (code === undefined || path === undefined) return message
  return `${path} cannot be opened (${code}); look at the path, and at the rights of this user`
}

function throwInsteadOfExit(command: Command): void {
  command.exitOverride()
  for (const each of command.commands) throwInsteadOfExit(each)
}
