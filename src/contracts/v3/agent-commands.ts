/** Records of commands that a node sends to its agents: restart, upgrade, active response. */
import type { V3Endpoint } from '../endpoint.ts'
import { write } from '../record.ts'
import { filter } from '../schemas/params.ts'
import { affected, agentIdList, agentOwner, everyNode, fieldTypes, liveAgents, message } from '../schemas/shared.ts'

const restarting = { permission: 'agents:restart', slow: true } as const
const restarts: readonly V3Endpoint[] = [
  write('POST', '/agents/restart', 'Restart a list of agents', {
    ...restarting,
    target: { kind: 'agentOwners', ids: 'body' },
    body: {
      kind: 'fields',
      types: fieldTypes,
      fields: { ids: agentIdList },
    },
    response: affected,
    invalidates: ['agent:{body.ids}', ...liveAgents],
  }),
  write('PUT', '/agents/restart', 'Restart all agents', {
    ...restarting,
    target: everyNode,
    invalidates: ['agent:*', ...liveAgents],
  }),
  write('PUT', '/agents/:agent_id/restart', 'Restart an agent', {
    ...restarting,
    target: agentOwner,
    response: affected,
    invalidates: ['agent:{agent_id}', ...liveAgents],
  }),
  write('PUT', '/agents/groups/:group_id/restart', 'Restart the agents of a group', {
    ...restarting,
    target: { kind: 'agentOwners', ids: 'group' },
    response: affected,
    invalidates: ['agent:{answer.affected_agents}', ...liveAgents],
    beyondSeed: true,
  }),
]

const upgrading = {
  permission: 'agents:upgrade',
  target: agentOwner,
  response: message,
  slow: true,
} as const
const upgrades: readonly V3Endpoint[] = [
  write('PUT', '/agents/:agent_id/upgrade', 'Upgrade an agent from a repository', {
    ...upgrading,
    query: {
      wpk_repo: {
        ...filter('paths', 'repository'),
        default: 'packages.wazuh.com/wpk/',
        startsWith: 'upgradeRepositories',
      },
      version: filter('alphanumeric', 'version'),
      use_http: { ...filter('boolean', 'HTTP instead of HTTPS'), default: false },
      force: { ...filter('numbers', 'force'), default: 0, allowed: ['0', '1'], note: 'only 1 counts as true' },
    },
    invalidates: ['agent:{agent_id}', 'collection:agents', 'syscollector:{agent_id}', 'collection:syscollector'],
  }),
  write('PUT', '/agents/:agent_id/upgrade_custom', 'Upgrade an agent from a package on its node', {
    ...upgrading,
    query: {
      file_path: {
        ...filter('paths', 'path of the package file'),
        startsWith: 'packageFolders',
        note: 'absent answers 1307',
      },
      installer: { ...filter('alphanumeric', 'installation script'), note: 'absent answers 1307' },
    },
    invalidates: ['agent:{agent_id}', 'collection:agents', 'syscollector:{agent_id}', 'collection:syscollector'],
  }),
]

export const agentCommands: readonly V3Endpoint[] = [...restarts, ...upgrades]

export const activeResponse: readonly V3Endpoint[] = [
  write('PUT', '/active-response/:agent_id', 'Send an active-response command to an agent', {
    body: {
      kind: 'fields',
      types: fieldTypes,
      fields: {
        command: {
          type: 'string',
          kind: 'command',
          role: 'command; a leading ! means script name instead of command name',
          note: 'absent answers 1650',
        },
        custom: { type: 'boolean', kind: 'boolean', role: 'the command is custom', default: false },
        arguments: { type: 'strings', role: 'arguments' },
      },
    },
    permission: 'active-response:run',
    target: agentOwner,
    invalidates: [],
    invalidatesNothingBecause: 'the command acts on the agent; the next scan reports what it changed',
  }),
]
