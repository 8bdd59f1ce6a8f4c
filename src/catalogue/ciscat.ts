/** CIS-CAT results of one agent and of all. */
import type { Endpoint } from './endpoint.ts'
import { read } from './record.ts'
import { collectionOf } from './schemas/answers.ts'
import { agentId, filter, hiddenQ, list, select } from './schemas/params.ts'
import { keepIn, ofAgent } from './schemas/tags.ts'
import { agentOwner, everyNode } from './schemas/targets.ts'

const both = {
  section: 'CIS-CAT',
  query: {
    ...list,
    q: hiddenQ,
    benchmark: filter('alphanumeric', 'benchmark'),
    profile: filter('alphanumeric', 'profile'),
    pass: filter('alphanumeric', 'pass'),
    fail: filter('alphanumeric', 'fail'),
    error: filter('numbers', 'error'),
    notchecked: filter('numbers', 'notchecked'),
    unknown: filter('numbers', 'unknown'),
    score: filter('numbers', 'score'),
    select,
  },
  strictQuery: true,
  permission: 'ciscat:read',
} as const

export const ciscat: readonly Endpoint[] = [
  read({
    path: '/ciscat/:agent_id/results',
    summary: 'CIS-CAT results of an agent',
    ...both,
    params: { agent_id: agentId },
    target: agentOwner,
    answer: collectionOf('CIS-CAT result'),
    keep: keepIn('ciscat', ...ofAgent('ciscat')),
  }),
  read({
    path: '/experimental/ciscat/results',
    summary: 'CIS-CAT results of all agents',
    ...both,
    target: everyNode('collection', 'label'),
    answer: collectionOf('CIS-CAT result with agent_id'),
    keep: keepIn('ciscat', 'collection:ciscat'),
    experimental: true,
  }),
]
