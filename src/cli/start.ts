import { Command } from 'commander'
import { startFromFile } from '../server.ts'

/** `manager-edge start`: the real thing, until it is told to end. */
export function startCommand(): Command {
  return new Command('start')
    .description('run the edge with a file of settings')
    .option('--config <file>', 'settings (YAML); default: the file that EDGE_CONFIG names')
    .addHelpText('after', '\nEnds with 0 after a signal, 1 where it cannot start, 2 where settings are wrong.')
    .action(async ({ config }: { config?: string }) => {
      process.exitCode = await startFromFile(config)
    })
}
