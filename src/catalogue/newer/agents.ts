/** Translations of reads of agents. */
import type { ParamRule, RowRule, Translation } from './translation.ts'

/** The node has another word for agents that never connected, and none for all of them. */
export const status: ParamRule = { words: { neverconnected: 'never_connected' }, omitted: ['all'] }

export const agentRows: RowRule = {
  source: 'agents',
  fields: {
    status: { value: 'agentStatus' },
    lastKeepAlive: { value: 'date' },
    dateAdd: { value: 'date' },
    group_config_status: { dropped: true },
    disconnection_time: { dropped: true },
  },
}

export const agents: Translation = {
  call: { path: '/agents', params: { status } },
  response: { kind: 'collection', rows: agentRows },
}

export const agent: Translation = {
  call: { path: '/agents', fixed: { agents_list: ':agent_id' } },
  response: { kind: 'one', rows: agentRows },
}

export const agentSummary: Translation = {
  call: { path: '/agents/summary/status' },
  response: { kind: 'own', shape: 'agentSummary' },
}
