import type { Endpoint } from './endpoint.ts'
import { read } from './record.ts'
import { agentFilter, agentId, filter, hiddenQ, list, select } from './schemas/params.ts'
import { collectionOf } from './schemas/responses.ts'
import { agentOwner, allAgents, cacheIn, ofAgent } from './schemas/targets.ts'

/** Records of CIS-CAT results of one agent and of all agents. */

const filters = {
  benchmark: filter('alphanumeric', 'benchmark'),
  profile: filter('alphanumeric', 'profile'),
  pass: filter('alphanumeric', 'pass'),
  fail: filter('alphanumeric', 'fail'),
  error: filter('numbers', 'error'),
  notchecked: filter('numbers', 'notchecked'),
  unknown: filter('numbers', 'unknown'),
  score: filter('numbers', 'score'),
}
const both = {
  section: 'CIS-CAT',
  strictQuery: true,
  permission: 'ciscat:read',
} as const

export const ciscat: readonly Endpoint[] = [
  read({
    path: '/ciscat/:agent_id/results',
    summary: 'CIS-CAT results of an agent',
    ...both,
    params: { agent_id: agentId },
    query: { ...list, q: hiddenQ, ...filters, select },
    target: agentOwner,
    response: collectionOf('CIS-CAT result', 'ciscat'),
    cache: cacheIn('ciscat', ...ofAgent('ciscat')),
  }),
  read({
    path: '/experimental/ciscat/results',
    summary: 'CIS-CAT results of all agents',
    ...both,
    query: { ...list, q: hiddenQ, agent_id: agentFilter, ...filters, select },
    target: allAgents('/ciscat/:agent_id/results'),
    response: collectionOf('CIS-CAT result with agent_id', 'ciscat'),
    cache: cacheIn('ciscat', 'collection:ciscat'),
    experimental: true,
    priority: 'bulk',
  }),
]
