/** Translations of reads of agents. */
import type { ParamRule, RowRule, Translation } from './translation.ts'

const neverConnected = { neverconnected: 'never_connected' } as const
/** The node has another word for agents that never connected, and none for all of them. */
export const status: ParamRule = { words: neverConnected, omitted: ['all'] }
/** The code for words that are no status. */
export const statusRefused = { status: 1729 } as const

const agentFields: RowRule['fields'] = {
  status: { value: 'agentStatus', words: neverConnected, sortedBy: 'lastKeepAlive' },
  lastKeepAlive: { value: 'date' },
  dateAdd: { value: 'date' },
  group_config_status: { dropped: true },
  disconnection_time: { dropped: true },
}

export const agentRows: RowRule = { source: 'agents', fields: agentFields }

/** Agents are counted by `unknown` if they lack a field. Nodes have this name in both layouts. */
const countedRows: RowRule = { fields: agentFields, unknownIsMissing: { except: ['node_name'] } }

/** The node finds versions without the name of the product too. */
const version: ParamRule = { byEdgeIf: '^(?![Ww][Aa][Zz][Uu][Hh])' }

export const agents: Translation = {
  call: { path: '/agents', params: { status, version } },
  response: { kind: 'collection', rows: agentRows },
  refused: statusRefused,
}

export const agent: Translation = {
  call: { path: '/agents', fixed: { agents_list: ':agent_id' } },
  response: { kind: 'one', rows: agentRows, missing: 1701 },
}

export const agentByName: Translation = {
  call: { path: '/agents', fixed: { name: ':agent_name' } },
  response: { kind: 'one', rows: agentRows, equal: { name: ':agent_name' }, missing: 1701 },
}

export const agentsWithoutGroup: Translation = {
  call: { path: '/agents/no_group', params: { status: { byEdge: true } } },
  response: { kind: 'collection', rows: agentRows },
}

export const outdatedAgents: Translation = {
  call: { path: '/agents/outdated', params: { select: { byEdge: true } } },
  response: { kind: 'collection', rows: agentRows },
}

export const agentSummary: Translation = {
  call: { path: '/agents/summary/status' },
  plan: 'agentCounts',
  response: { kind: 'object' },
}

/** The node has a call for platforms, which does not count agent 000 and takes no parameters. */
export const agentPlatforms: Translation = {
  call: {
    path: '/agents/stats/distinct',
    fixed: { fields: 'os.platform' },
    params: { sort: { byEdge: true, format: 'sign' } },
    allRows: true,
  },
  response: { kind: 'collection', rows: { ...countedRows, source: 'catalogue' }, value: 'os.platform' },
}

/** The classic layout takes `select` for `fields` if it has no `fields`. */
export const distinctAgents: Translation = {
  call: { path: '/agents/stats/distinct', params: { select: { as: 'fields' } } },
  response: { kind: 'collection', rows: countedRows },
}

export const agentKey: Translation = {
  call: { path: '/agents/:agent_id/key' },
  response: { kind: 'one', field: 'key', missing: 1701 },
}

export const agentConfiguration: Translation = {
  call: { path: '/agents/:agent_id/config/:component/:configuration' },
  response: { kind: 'object' },
  refused: { component: 1101, configuration: 1116 },
}

export const agentGroupSync: Translation = {
  call: { path: '/agents/:agent_id/group/is_sync' },
  response: { kind: 'one', rows: { fields: { id: { dropped: true } } }, missing: 1739 },
  errors: { 1701: 1739 },
}

export const upgradeResult: Translation = {
  call: {
    path: '/agents/upgrade_result',
    fixed: { agents_list: ':agent_id' },
    params: { timeout: { ignored: true } },
  },
  plan: 'upgradeResult',
  response: { kind: 'text', text: 'Agent upgraded successfully' },
  errors: { 1707: 1720, 1813: 1716 },
}
