#!/usr/bin/env node
/** The command line: runs one command, and turns what went wrong into one line and an exit code. */
import { readFileSync } from 'node:fs'
import { Command, CommanderError } from 'commander'
import { commands } from './cli/commands.ts'
import { CommandError, complain } from './cli/terminal.ts'
import { exitCodes } from './server/exit-codes.ts'

const { version, description } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string
  description: string
}

const program = new Command('manager-edge')
  .description(description)
  .version(version, '-V, --version')
  .showHelpAfterError('(--help shows what there is)')
for (const command of commands(version)) program.addCommand(command)
throwInsteadOfExit(program)

try {
  await program.parseAsync()
} catch (fault) {
  process.exitCode = exitCodeOf(fault)
}

/** What commander itself finds wrong it has told already; the others are one line each. */
function exitCodeOf(fault: unknown): number {
  if (fault instanceof CommanderError) return fault.exitCode === 0 ? exitCodes.ended : exitCodes.settings
  complain(fault instanceof Error ? fault.message : String(fault))
  return fault instanceof CommandError ? fault.exitCode : exitCodes.failed
}

function throwInsteadOfExit(command: Command): void {
  command.exitOverride()
  for (const each of command.commands) throwInsteadOfExit(each)
}
