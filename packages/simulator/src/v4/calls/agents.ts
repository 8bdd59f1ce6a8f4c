/** The calls that read agents. */
import { type Call, NO_TEXTS } from '../model.ts'
import {
  activeConfiguration,
  all,
  distinct,
  isSync,
  keys,
  noGroup,
  outdated,
  overallCounts,
  platforms,
  statusCounts,
} from './agent-reads.ts'

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
    runs: 'master',
    needs: [readsAgents],
    texts: agentTexts,
    hangsOver: 2500,
    run: all,
  },
  {
    method: 'GET',
    path: '/agents/no_group',
    runs: 'master',
    needs: [readsAgents],
    texts: agentTexts,
    run: noGroup,
  },
  {
    method: 'GET',
    path: '/agents/outdated',
    runs: 'master',
    needs: [readsAgents],
    texts: agentTexts,
    run: outdated,
  },
  {
    method: 'GET',
    path: '/agents/stats/distinct',
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
    path: '/agents/summary',
    runs: 'master',
    needs: [readsAgents],
    texts: NO_TEXTS,
    run: (asked) => ({ kind: 'data', data: overallCounts(asked) }),
  },
  {
    method: 'GET',
    path: '/agents/uninstall',
    runs: 'master',
    needs: [{ action: 'agent:uninstall', type: '*:*', named: 'whole' }],
    texts: NO_TEXTS,
    run: () => ({ kind: 'text', message: 'User has permission to uninstall agents' }),
  },
  {
    method: 'GET',
    path: '/agents/{agent_id}/key',
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
    runs: 'owner',
    needs: [readsAgent],
    texts: NO_TEXTS,
    run: activeConfiguration,
  },
]
