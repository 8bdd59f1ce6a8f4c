import { readFile } from 'node:fs/promises'
import { CommandError } from './terminal.ts'

/** What stands in a file that an option names. */
export async function fileText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (cause) {
    throw new CommandError(`${file} cannot be read (${(cause as NodeJS.ErrnoException).code}); name a readable file`)
  }
}
