import { type Config, loadConfig } from '../config/index.ts'
import { exitCodes } from '../server/exit-codes.ts'
import { CommandError } from './terminal.ts'

/** The settings that a command works with; all their faults at once, one line each, when there are any. */
export async function settingsFrom(file: string | undefined): Promise<Config> {
  const loaded = await loadConfig({ file })
  if (!loaded.ok) throw new CommandError(loaded.faults.join('\n'), exitCodes.settings)
  return loaded.config
}
