/** What is wrong with the edge, and the state that it follows from. Times are milliseconds. */
import type { RedisFault, RedisMemory } from '../core/cache.ts'

/** What can be wrong: values of `kind` of a problem, and of the label `reason` of `edge_degraded`. */
export const PROBLEM_KINDS = [
  'notReady',
  'noNode',
  'nodeUnreachable',
  'nodeHangs',
  'nodeCutOff',
  'nodeDrained',
  'addressBlocked',
  'credentialsRefused',
  'weakCredentials',
  'queueFull',
  'budgetUsedUp',
  'openFilesUsedUp',
  'tokensCheckedLate',
  'auditNotWritten',
  'servedInOutage',
  'requestsFail',
  'redisUnreachable',
  'redisSlow',
  'redisFull',
  'redisNearlyFull',
  'certificateEnds',
  'configurationNotReloaded',
  'pendingRestart',
  'mixedLayouts',
  'replicaNotReady',
  'replicasDiffer',
  'clocksDiffer',
  'cacheDisabled',
] as const

export type ProblemKind = (typeof PROBLEM_KINDS)[number]

/** `error`: requests fail or wait. `warning`: they will, or do for some. `notice`: a state that an operator has chosen. */
export type ProblemSeverity = 'error' | 'warning' | 'notice'

export interface FoundProblem {
  readonly kind: ProblemKind
  readonly severity: ProblemSeverity
  /** What is wrong, as a phrase that a colon can follow. */
  readonly summary: string
  /** What follows from the problem, and what to do. */
  readonly detail: string
  /** What `/readyz?verbose` shows, which needs no sign-in: without names of nodes and replicas. Absent: `summary`. */
  readonly openDetail?: string
  /** The view of the console that shows more. */
  readonly view?: 'cache' | 'nodes'
}

export interface Problem extends FoundProblem {
  /** When this replica found a problem of this kind, in ISO 8601. A pause of up to ten seconds is no end. */
  readonly since: string
}

/** `GET /api/problems`. The most severe problems come first. */
export interface Problems {
  readonly problems: readonly Problem[]
}

export interface CacheState {
  readonly enabled: boolean
  /** Whether replicas share the cache through Redis. */
  readonly shared: boolean
  /** Whether Redis is slow or unreachable. */
  readonly unreachable: boolean
  /** What is wrong with Redis, and what to do. */
  readonly faults: readonly RedisFault[]
}

/** What Redis reported in the last seconds. Empty: Redis has not replied. */
export interface RedisCapacity {
  readonly memory?: RedisMemory
  /** Stored responses of all replicas. Those that Redis has evicted are counted until they expire. */
  readonly entries?: number
}
