/**
 * Commands of other packages of this repository. The edge does not import packages: `npm run build` writes the entry of each
 * package beside the program, and an installation may leave it out.
 */
import { existsSync } from 'node:fs'
import { Command } from 'commander'
import { CommandError } from './terminal.ts'

/** What an entry exports. */
export interface AddedCommands {
  readonly commands: () => readonly Command[]
}

/** A package, its entry in `dist` as seen from a file of the built program, and what a missing command reports. */
const ADDED = [
  {
    entry: new URL('../tools/commands.js', import.meta.url),
    names: ['doctor', 'problems', 'top', 'explain', 'purge', 'drain', 'undrain', 'routes', 'openapi', 'man'],
    needs: 'it needs the folder dist/tools',
    remedy: 'the tools of operators are not included in this installation; install the npm package of the edge',
  },
  {
    entry: new URL('../simulator/commands.js', import.meta.url),
    names: ['demo', 'simulate'],
    needs: 'it needs the simulated cluster',
    remedy:
      'the simulated cluster is not included in this installation (the container image and the Debian package have no simulator); run it from the source with "npm run demo"',
  },
  {
    entry: new URL('../mcp/commands.js', import.meta.url),
    names: ['mcp'],
    needs: 'it needs the folder dist/mcp',
    remedy: 'the interface for assistants is not included in this installation; install the npm package of the edge',
  },
] as const

/** Returns the commands of all entries. If one is not installed, each of its commands reports this. */
export async function addedCommands(): Promise<readonly Command[]> {
  const added = ADDED.map(async ({ entry, names, ...missing }): Promise<readonly Command[]> => {
    if (!existsSync(entry)) return names.map((name) => missingCommand(name, missing))
    const { commands }: AddedCommands = await import(entry.href)
    return commands()
  })
  return (await Promise.all(added)).flat()
}

function missingCommand(name: string, { needs, remedy }: { readonly needs: string; readonly remedy: string }): Command {
  return new Command(name)
    .description(`not included in this installation: ${needs}`)
    .allowUnknownOption()
    .allowExcessArguments()
    .action(() => {
      throw new CommandError(remedy)
    })
}
