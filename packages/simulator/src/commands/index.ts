/** The commands of this package: what the command line of the edge adds to its own (`src/cli/added-commands.ts`). */
import { Command, Option } from 'commander'
import type { AddedCommands } from '../../../../src/cli/added-commands.ts'
import { parseInteger } from '../../../../src/cli/terminal.ts'
import type { DemoOptions } from './demo.ts'
import type { SimulateOptions } from './simulate.ts'

export const commands: AddedCommands['commands'] = () => [demo(), simulate()]

function demo(): Command {
  const port = parseInteger(0, 65_535)
  const command = new Command('demo')
    .description('run the edge in front of a simulated cluster')
    .option('--port <n>', 'port of the API; 0: any free port', port, 55_000)
    .option('--operations-port <n>', 'port of the operations listener; 0: any free port', port, 55_001)
    .option('--v4-port <n>', 'port for clients of releases 4.x, with --layout v4; 0: any free port', port, 55_002)
    .option('--replicas <n>', 'number of replicas; the ports of each are higher by 10 or more', parseInteger(1, 10), 1)
    .option('--redis', 'share the cache through the redis-server that is installed; starts one for the demo')
    .option('--user-password <password>', 'password of all three users, for scripts; default: random passwords')
    .action(async (options: DemoOptions) => {
      process.exitCode = await (await import('./demo.ts')).demo(options)
    })
  return withClusterOptions(command)
}

function simulate(): Command {
  const command = new Command('simulate')
    .description('run a simulated cluster alone, and print the settings of an edge in front of it')
    .option('--port <n>', 'port of the master, the workers use the next ones; 0: any', parseInteger(0, 65_500), 0)
    .option('--username <name>', 'account of the edge on the nodes', 'edge')
    .option('--password <password>', 'its password', 'simulated')
    .action(async (options: SimulateOptions) => {
      process.exitCode = await (await import('./simulate.ts')).simulate(options)
    })
  return withClusterOptions(command)
}

function withClusterOptions(command: Command): Command {
  return command
    .option('--agents <n>', 'number of agents', parseInteger(1, 100_000), 100)
    .option('--workers <n>', 'number of workers besides the master', parseInteger(0, 50), 2)
    .option('--seed <n>', 'seed of the data; the same seed gives the same cluster', parseInteger(0, 999_999_999), 1)
    .addOption(
      new Option('--layout <layout>', "layout of the nodes' API: that of releases 3.x or 4.x")
        .choices(['v3', 'v4'])
        .default('v3'),
    )
    .option('--release <release>', 'release of the nodes, such as 4.14.0 or 5.0.0 with --layout v4')
}
