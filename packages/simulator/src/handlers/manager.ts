/** A node of the manager: identity, status, and all requests about the node itself. */
import { daemonStates } from '../data/node/daemons.ts'
import type { SimHandlers, SimRequest } from '../model.ts'
import { configurationHandlers } from './configuration.ts'
import { logHandlers } from './logs.ts'
import { statsHandlers } from './stats.ts'

function information({ world, node }: SimRequest) {
  return {
    path: '/var/ossec',
    version: `v${world.version}`,
    compilation_date: 'Mon Feb 24 14:53:16 UTC 2020',
    type: 'server',
    max_agents: 'N/A',
    openssl_support: 'N/A',
    ruleset_version: '31110',
    tz_offset: '+0000',
    tz_name: 'UTC',
    name: node.name,
    cluster: {
      enabled: 'yes',
      running: node.clusterDaemonDown === true ? 'no' : 'yes',
      name: 'cluster',
      node_name: node.name,
      node_type: node.type,
    },
  }
}

export const managerHandlers: SimHandlers = {
  'GET /manager/info': information,
  'GET /manager/status': ({ world, node }) => daemonStates(world, node),
  ...configurationHandlers,
  ...logHandlers,
  ...statsHandlers,
}
