/** The calls that read agents. */
import { type Call, NO_TEXTS } from '../model.ts'
import { agentId, agentsList, list, paging, querying, selecting } from '../parameters.ts'
import {
  activeConfiguration,
  all,
  distinct,
  isSync,
  keys,
  noGroup,
  outdated,
  platforms,
  statusCounts,
} from './agent-reads.ts'
import { filters } from './agent-table.ts'
import { activeConfigurationParams } from './component-names.ts'

const readsAgents = {
  action: 'agent:read',
  type: 'agent:id',
  named: { in: 'query', as: 'agents_list' },
} as const
const readsAgent = { action: 'agent:read', type: 'agent:id', named: { in: 'path', as: 'agent_id' } } as const

export const agentTexts = {
  all: 'All selected agents information was returned',
  some: 'Some agents information was not returned',
  none: 'No agent information was returned',
}

export const agentCalls: readonly Call[] = [
  {
    method: 'GET',
    path: '/agents',
    query: { agents_list: agentsList, ...paging(), ...selecting, ...querying, ...filters },
    runs: 'master',
    needs: [readsAgents],
    texts: agentTexts,
    hangsOver: 2500,
    run: all,
  },
  {
    method: 'GET',
    path: '/agents/no_group',
    query: { ...paging(), ...selecting, ...querying },
    runs: 'master',
    needs: [readsAgents],
    texts: agentTexts,
    run: noGroup,
  },
  {
    method: 'GET',
    path: '/agents/outdated',
    query: { ...paging(), ...querying },
    runs: 'master',
    needs: [readsAgents],
    texts: agentTexts,
    run: outdated,
  },
  {
    method: 'GET',
    path: '/agents/stats/distinct',
    query: { fields: list('names'), ...paging(), ...querying },
    runs: 'master',
    needs: [readsAgents],
    texts: agentTexts,
    run: distinct,
  },
  {
    method: 'GET',
    path: '/agents/summary/status',
    runs: 'master',
    needs: [readsAgents],
    texts: NO_TEXTS,
    run: (asked) => ({ kind: 'data', data: statusCounts(asked) }),
  },
  {
    method: 'GET',
    path: '/agents/summary/os',
    runs: 'master',
    needs: [readsAgents],
    texts: {
      all: 'Showing the operative system of all specified agents',
      some: 'Could not get the operative system of some agents',
      none: 'Could not get the operative system of the agents',
    },
    run: platforms,
  },
  {
    method: 'GET',
    path: '/agents/{agent_id}/key',
    params: { agent_id: agentId },
    runs: 'master',
    needs: [readsAgent],
    texts: {
      all: 'Obtained keys for all selected agents',
      some: 'Some agent keys were not obtained',
      none: 'No agent keys were obtained',
    },
    run: keys,
  },
  {
    method: 'GET',
    path: '/agents/{agent_id}/group/is_sync',
    params: { agent_id: agentId },
    runs: 'master',
    needs: [readsAgent],
    texts: {
      all: 'Sync info was returned for all selected agents',
      some: 'Sync info was not returned for some selected agents',
      none: 'No sync info was returned',
    },
    run: isSync,
  },
  {
    method: 'GET',
    path: '/agents/{agent_id}/config/{component}/{configuration}',
    params: { agent_id: agentId, ...activeConfigurationParams },
    runs: 'owner',
    needs: [readsAgent],
    texts: NO_TEXTS,
    run: activeConfiguration,
  },
]
