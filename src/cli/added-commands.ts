/**
 * Commands of another package of this repository. The edge does not import packages: `npm run build` writes the entry of the
 * package beside the program, and an installation may leave it out.
 */
import { existsSync } from 'node:fs'
import { Command } from 'commander'
import { CommandError } from './terminal.ts'

/** What an entry exports. */
export interface AddedCommands {
  readonly commands: () => readonly Command[]
}

/** The entry in `dist`, as seen from a file of the built program. */
const ENTRY = new URL('../simulator/commands.js', import.meta.url)
const NAMES = ['demo', 'simulate']

/** Returns the commands of the entry. If it is not installed, each of them reports this. */
export async function addedCommands(): Promise<readonly Command[]> {
  if (!existsSync(ENTRY)) return NAMES.map(missingCommand)
  const { commands }: AddedCommands = await import(ENTRY.href)
  return commands()
}

function missingCommand(name: string): Command {
  return new Command(name)
    .description('not included in this installation: it needs the simulated cluster')
    .allowUnknownOption()
    .allowExcessArguments()
    .action(() => {
      throw new CommandError(
        'the simulated cluster is not included in this installation (the container image and the Debian package have no simulator); run it from the source with "npm run demo"',
      )
    })
}
