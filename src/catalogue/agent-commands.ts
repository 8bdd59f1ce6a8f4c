/** Records of commands that a node sends to its agents: restart, upgrade, active response. */
import type { Endpoint } from './endpoint.ts'
import { write } from './record.ts'
import { agentId, filter, groupId } from './schemas/params.ts'
import { affected, agentIdList, fieldTypes, message } from './schemas/responses.ts'
import { agentOwner, everyNode, liveAgents } from './schemas/targets.ts'

const section = 'Agents'
const restarting = { section, permission: 'agents:restart', slow: true } as const
const restarts: readonly Endpoint[] = [
  write('POST', {
    path: '/agents/restart',
    summary: 'Restart a list of agents',
    ...restarting,
    target: { kind: 'agentOwners', merge: 'affected', ids: 'body' },
    body: {
      kind: 'fields',
      types: fieldTypes,
      fields: { ids: agentIdList },
    },
    response: affected,
    invalidates: ['agent:{body.ids}', ...liveAgents],
  }),
  write('PUT', {
    path: '/agents/restart',
    summary: 'Restart all agents',
    ...restarting,
    target: everyNode('message', 'fail'),
    response: message,
    invalidates: ['agent:*', ...liveAgents],
  }),
  write('PUT', {
    path: '/agents/:agent_id/restart',
    summary: 'Restart an agent',
    ...restarting,
    params: { agent_id: agentId },
    target: agentOwner,
    response: affected,
    invalidates: ['agent:{agent_id}', ...liveAgents],
  }),
  write('PUT', {
    path: '/agents/groups/:group_id/restart',
    summary: 'Restart the agents of a group',
    ...restarting,
    section: 'Agent groups',
    params: { group_id: groupId },
    target: { kind: 'agentOwners', merge: 'affected', ids: 'group' },
    response: affected,
    invalidates: ['agent:{answer.affected_agents}', ...liveAgents],
    beyondSeed: true,
  }),
]

const upgrading = {
  section,
  permission: 'agents:upgrade',
  target: agentOwner,
  strictQuery: true,
  response: message,
  slow: true,
} as const
const upgrades: readonly Endpoint[] = [
  write('PUT', {
    path: '/agents/:agent_id/upgrade',
    summary: 'Upgrade an agent from a repository',
    ...upgrading,
    params: { agent_id: agentId },
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
  write('PUT', {
    path: '/agents/:agent_id/upgrade_custom',
    summary: 'Upgrade an agent from a package on its node',
    ...upgrading,
    params: { agent_id: agentId },
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

export const agentCommands: readonly Endpoint[] = [...restarts, ...upgrades]

export const activeResponse: readonly Endpoint[] = [
  write('PUT', {
    path: '/active-response/:agent_id',
    summary: 'Send an active-response command to an agent',
    section: 'Active response',
    params: { agent_id: agentId },
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
    response: message,
    invalidates: [],
    invalidatesNothingBecause: 'the command acts on the agent; the next scan reports what it changed',
  }),
]
