/**
 * The commands against a running edge, and those about its surroundings and its contracts, with their help: what the command line
 * of the edge adds to its own (`src/cli/added-commands.ts`). A further one is a function here and a row in `commands`.
 */
import { Command, Option } from 'commander'
import type { AddedCommands } from '../../../../src/cli/added-commands.ts'
import { addNotes, type Notes } from '../../../../src/cli/help.ts'
import { parseInteger } from '../../../../src/cli/terminal.ts'
import { addConnectionOptions } from './edge-client.ts'

export const commands: AddedCommands['commands'] = () => [
  doctor(),
  problems(),
  top(),
  explain(),
  purge(),
  drain(),
  undrain(),
  routes(),
  openApi(),
  manual(),
]

const json = ['--json', 'print JSON'] as const
const NOTHING_KNOWN = '2 for wrong options, or if the edge cannot be reached, refuses the user or fails'

/** A command that uses the operations listener. */
function connected(name: string, description: string, notes: Notes): Command {
  return addNotes(addConnectionOptions(new Command(name).description(description)), notes)
}

function doctor(): Command {
  const command = new Command('doctor')
    .description('try the nodes, Redis, names, certificates, clocks and limits, and print the fix of what is not good')
    .option('--config <file>', 'configuration file (YAML); default: the file named by EDGE_CONFIG')
    .option('--balancer <file>', 'also compare the timeouts in this file of HAProxy or nginx with those of the edge')
    .option('--json', 'print JSON')
    .action(async (options) => (await import('./doctor.ts')).doctor(options))
  return addNotes(command, {
    exitCodes: '0 if all findings are ok, 1 if one is not, 2 if the configuration is wrong',
    examples: [
      'doctor --config /etc/edge/edge.yaml --balancer /etc/haproxy/haproxy.cfg',
      'doctor --config edge.yaml --json',
    ],
  })
}

function problems(): Command {
  return connected('problems', 'print what is wrong with a running edge', {
    exitCodes: `0 if there is no error and no warning, 1 if there is one, ${NOTHING_KNOWN}`,
    examples: ['problems --user alice --password-file ./password', 'problems --token-file ./token --json'],
  })
    .option(...json)
    .action(async (options) => (await import('./edge-reports.ts')).printProblems(options))
}

function top(): Command {
  return connected('top', 'show the busiest endpoints and callers, and the nodes, of one replica', {
    exitCodes: `0, or ${NOTHING_KNOWN}`,
    examples: ['top --user alice', 'top --user alice --password-file ./password --seconds 30 --json'],
  })
    .option('--seconds <n>', 'seconds of traffic that the tables cover', parseInteger(1, 600), 10)
    .option('--rows <n>', 'endpoints and callers to show', parseInteger(1, 1000), 10)
    .option('--once', 'print the tables once; without a terminal and with --json always')
    .option(...json)
    .action(async (options) => (await import('./top.ts')).top(options))
}

function explain(): Command {
  return connected('explain', 'explain what the cache does with a request, and what a write invalidates', {
    exitCodes: `0, 1 if the edge would refuse the request, ${NOTHING_KNOWN}`,
    examples: ["explain GET '/agents?limit=5' --user alice", 'explain PUT /agents/001/restart --user alice --json'],
  })
    .argument('<method>', 'method of the request')
    .argument('<path>', 'path and query, or a full URL')
    .addOption(contractOption())
    .option(...json)
    .action(async (method, path, options) => (await import('./edge-reports.ts')).explain(method, path, options))
}

function purge(): Command {
  return connected('purge', 'remove stored responses of all replicas', {
    exitCodes: `0, 1 if the edge refuses the purge or carries it out later, ${NOTHING_KNOWN}`,
    examples: ['purge --tag agent:001 --user alice', 'purge --group agents --dry-run --user alice --json'],
  })
    .option('--tag <tag>', 'those with a tag, such as agent:001')
    .option('--group <name>', 'those of a cache group, such as agents')
    .option('--endpoint <route>', 'those of an endpoint, such as /agents/:agent_id')
    .option('--all', 'all')
    .option('--soft', 'mark them as stale instead: served while they are refreshed')
    .option('--dry-run', 'print only what a purge would remove')
    .option(...json)
    .action(async (options) => (await import('./edge-changes.ts')).purge(options))
}

function drain(): Command {
  return connected('drain', 'take a node out for maintenance: it gets no calls from any replica', {
    exitCodes: `0, 1 if the edge refuses the drain or calls are in flight after --wait-timeout, ${NOTHING_KNOWN}`,
    examples: [
      'drain worker-1 --for 30m --reason OPS-123 --wait --user alice',
      'drain worker-1 --dry-run --user alice --json',
    ],
  })
    .argument('<node>', 'name of the node')
    .option('--for <duration>', 'put it back after this time, such as 30m or 2h; default: undrain puts it back')
    .option('--reason <text>', 'reason for the audit and the console, such as the number of a ticket')
    .option('--confirm-master', 'drain the master, although writes fail')
    .option('--dry-run', 'print only the expected load of the other nodes')
    .option('--wait', 'wait until no call to the node is in flight')
    .option('--wait-timeout <seconds>', 'stop waiting after this time', parseInteger(1, 86_400), 300)
    .option(...json)
    .action(async (node, options) => (await import('./edge-changes.ts')).drain(node, options))
}

function undrain(): Command {
  return connected('undrain', 'put a drained node back', {
    exitCodes: `0, 1 if the edge has no such node, ${NOTHING_KNOWN}`,
    examples: ['undrain worker-1 --user alice'],
  })
    .argument('<node>', 'name of the node')
    .option(...json)
    .action(async (node, options) => (await import('./edge-changes.ts')).undrain(node, options))
}

function routes(): Command {
  return new Command('routes')
    .description('list every endpoint of a contract')
    .addOption(contractOption())
    .action(async (options) => (await import('./reports.ts')).printRoutes(options))
}

function openApi(): Command {
  return new Command('openapi')
    .description('print the OpenAPI document of a contract (JSON)')
    .addOption(contractOption())
    .option('--server <url>', 'URL of the edge for clients')
    .action(async (options) => (await import('./reports.ts')).printOpenApi(options))
}

export function contractOption(): Option {
  return new Option('--contract <name>', 'v3 (releases 3.x) or v4 (releases 4.x)').choices(['v3', 'v4']).default('v3')
}

/** For packages, and for `manager-edge man | man -l -`. */
function manual(): Command {
  return new Command('man')
    .description('print the manual page (troff)')
    .action(async (_options, { parent }: Command) => {
      if (parent !== null) process.stdout.write((await import('./manual.ts')).manualPage(parent))
    })
}
