#!/usr/bin/env node
/** The command line: one file for each command, their names and their exit codes here. */
import { readFileSync } from 'node:fs'
import { Command, CommanderError } from 'commander'
import { checkCommand } from './cli/check.ts'
import { demoCommand } from './cli/demo.ts'
import { openApiCommand, routesCommand } from './cli/routes.ts'
import { startCommand } from './cli/start.ts'
import { CommandError, complain } from './cli/terminal.ts'
import { tokenCommand } from './cli/token.ts'
import { userCommand } from './cli/user.ts'
import { exitCodes } from './server.ts'

const { version, description } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string
  description: string
}

const program = new Command('manager-edge')
  .description(description)
  .version(version, '-V, --version')
  .showHelpAfterError('(--help shows what there is)')
for (const command of [
  startCommand(),
  demoCommand(),
  checkCommand(),
  userCommand(),
  tokenCommand(),
  routesCommand(),
  openApiCommand(version),
]) {
  program.addCommand(command)
}
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
  complain(fault instanceof Error ? fault.message : String(fault))
  return fault instanceof CommandError ? fault.exitCode : exitCodes.failed
}

function throwInsteadOfExit(command: Command): void {
  command.exitOverride()
  for (const each of command.commands) throwInsteadOfExit(each)
}
