/** Translations of the agent registry: adding and removing agents. */
import { status, statusRefused } from './agents.ts'
import type { Translation } from './translation.ts'

/** Shell clients cut the response by position, so the order counts. */
const idAndKey = { kind: 'object', only: ['id', 'key'] } as const

export const addAgent: Translation = {
  call: { path: '/agents', body: 'registration' },
  response: idAndKey,
  refused: { name: 1738 },
}

export const addAgentQuickly: Translation = {
  call: { method: 'POST', path: '/agents/insert/quick', fixed: { agent_name: ':agent_name' } },
  response: idAndKey,
  refused: { agent_name: 1738 },
}

export const insertAgent: Translation = {
  call: { path: '/agents/insert', body: 'registration' },
  response: idAndKey,
  refused: { name: 1738 },
}

const removed = {
  kind: 'affected',
  all: 'All selected agents were removed',
  some: 'Some agents were not removed',
} as const

/** Without ids all agents are meant that the other parameters match; the node demands a list and a status. */
export const removeAgents: Translation = {
  call: {
    path: '/agents',
    fixed: { agents_list: 'all', status: 'all' },
    params: { ids: { ignored: true }, status, purge: { format: 'boolean' } },
    list: { as: 'agents_list', from: 'query.ids' },
  },
  confirmsRemoval: true,
  response: { ...removed, none: 'No agents were removed', totals: true },
  refused: statusRefused,
}

/** The registry of the classic layout has a code of its own for an agent that does not exist, and agent 000 has no key. */
export const removeAgent: Translation = {
  call: {
    path: '/agents',
    fixed: { agents_list: ':agent_id', status: 'all', older_than: '0s' },
    params: { purge: { format: 'flag' } },
  },
  plan: 'removeAgent',
  confirmsRemoval: true,
  response: removed,
  errors: { 1701: 9011, 1703: 9011 },
}
