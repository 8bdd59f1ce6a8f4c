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
  redisWrongType: {
    severity: 'warning',
    summary: 'Keys in Redis were replaced',
    detail: 'Replicas do without the data of these keys.',
  },
} as const

export function capacityProblems({ capacity, cache }: ProblemSources): FoundProblem[] {
  const { shortages, local, redis } = capacity()
  const isFull = cache().faults.some(({ reason }) => reason === 'redisFull')
  const { limit, policy = '' } = redis?.memory ?? {}
  const maxmemory = limit === undefined ? 'maxmemory' : `maxmemory (${inMiB(limit)})`
  return [
    ...when(shortages.includes('redisNearlyFull') && !isFull, {
      kind: 'redisNearlyFull',
      severity: 'warning',
      summary: 'Redis is nearly full',
      detail: `More than 90 % of ${maxmemory} is used. With the policy ${policy}, Redis refuses to store responses when it is full. Raise maxmemory, or set maxmemory-policy volatile-lru.`,
      view: 'cache',
    }),
    ...when(shortages.includes('redisEvicting'), {
      kind: 'redisEvicting',
      severity: 'warning',
      summary: 'Redis evicts stored responses for lack of memory',
      detail: `Redis uses all of ${maxmemory}, and has removed responses in each of the last five minutes that could still be served. They are fetched from nodes again. Raise maxmemory.`,
      view: 'cache',
    }),
    ...when(shortages.includes('localTierEvicting'), {
      kind: 'localTierEvicting',
      severity: 'warning',
      summary: 'The local tier is too small for the responses in use',
      detail: `In the last five minutes, half or more of the responses that this replica stored have removed another one that could still be served. ${redis === undefined ? 'Those are fetched from nodes again.' : 'Those are read from Redis again.'} Raise cache.localBytes (${inMiB(local?.limit ?? 0)}), and the memory limit of the process by twice as much.`,
      view: 'cache',
    }),
  ]
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
