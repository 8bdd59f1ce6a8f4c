/** Problems of the cache, and of Redis. */
import type { FoundProblem } from '../problem-types.ts'
import { type ProblemSources, when } from './sources.ts'

export function redisProblems({ cache }: ProblemSources): FoundProblem[] {
  return cache().faults.map(({ reason, detail }) => ({
    kind: reason,
    ...REDIS_PROBLEMS[reason],
    detail: `${REDIS_PROBLEMS[reason].detail} ${detail}.`,
    openDetail: detail,
    view: 'nodes',
  }))
}

const REDIS_PROBLEMS = {
  redisUnreachable: {
    severity: 'error',
    summary: 'Redis is unreachable',
    detail: 'All reads go to the nodes, and writes are rejected.',
  },
  redisSlow: { severity: 'error', summary: 'Redis is slow', detail: 'All reads go to the nodes, and writes wait.' },
  redisFull: { severity: 'warning', summary: 'Redis is full', detail: 'Responses are not stored.' },
} as const

/** Share of `maxmemory` from which a Redis that evicts nothing counts as nearly full. */
const NEARLY_FULL_SHARE = 0.9

export function capacityProblems({ capacity, cache }: ProblemSources): FoundProblem[] {
  const { limit, policy = '', fullest = 0 } = capacity().redis?.memory ?? {}
  const isFull = cache().faults.some(({ reason }) => reason === 'redisFull')
  const maxmemory = limit === undefined ? 'maxmemory' : `maxmemory (${inMiB(limit)})`
  return when(policy.includes('noeviction') && fullest >= NEARLY_FULL_SHARE && !isFull, {
    kind: 'redisNearlyFull',
    severity: 'warning',
    summary: 'Redis is nearly full',
    detail: `More than 90 % of ${maxmemory} is used. With the policy ${policy}, Redis refuses to store responses when it is full. Raise maxmemory, or set maxmemory-policy volatile-lru.`,
    view: 'cache',
  })
}

function inMiB(bytes: number): string {
  return `${Number((bytes / 2 ** 20).toFixed(1))} MiB`
}

export function cacheProblems({ cache }: ProblemSources): FoundProblem[] {
  return when(!cache().enabled, {
    kind: 'cacheDisabled',
    severity: 'notice',
    summary: 'The cache is disabled',
    detail: 'Every request goes to the nodes (cache.enabled).',
    view: 'cache',
  })
}
