/** Translations of reads of agents. */
import type { ParamRule, RowRule, Translation } from './translation.ts'

const neverConnected = { neverconnected: 'never_connected' } as const
/** The node has another word for agents that never connected, and none for all of them. */
export const status: ParamRule = { words: neverConnected, omitted: ['all'] }

export const agentRows: RowRule = {
  source: 'agents',
  fields: {
    status: { value: 'agentStatus', words: neverConnected },
    lastKeepAlive: { value: 'date' },
    dateAdd: { value: 'date' },
    group_config_status: { dropped: true },
    disconnection_time: { dropped: true },
  },
  containers: {
    os: [
      'os.arch',
      'os.build',
      'os.codename',
      'os.major',
      'os.minor',
      'os.name',
      'os.platform',
      'os.uname',
      'os.version',
    ],
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
