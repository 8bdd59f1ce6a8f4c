/** The cache as all rooms see it: how it handled a request (`Cache-Status`), and what its index and its purges contain. */
export type { CacheExplanation } from '../contracts/items/cache.ts'

/** No node answers, and the response is served for hours (`cache.outage`). */
export const OUTAGE = 'outage'

/** The response is from the local tier while Redis is unreachable: another replica may have written since. */
export const WITHOUT_REDIS = 'without-redis'

/** A stale response that is served because nodes fail, with the code of their error, or because none answers. */
type StaleIfError = { readonly error: number } | typeof OUTAGE

/** A response that is served because nodes fail or Redis is unreachable. */
export type DegradedDetail = StaleIfError | typeof WITHOUT_REDIS

/** What the cache would have done in a trial, and how its response compares with that of the nodes. */
export type TrialDetail = { readonly trial: CacheOutcome | `${CacheOutcome}-${TrialComparison}` }

/** What is special about a response. `snapshot`: the edge computed it. */
export type CacheDetail = 'snapshot' | 'stale-while-revalidate' | DegradedDetail | TrialDetail

/** Returns the detail as a token of RFC 9651. */
export function formatDetail(detail: CacheDetail): string {
  if (typeof detail === 'string') return detail
  return 'error' in detail ? `stale-if-error/${detail.error}` : `trial-${detail.trial}`
}

export function isStaleIfError(detail: CacheDetail | undefined): detail is StaleIfError {
  return detail === OUTAGE || (typeof detail === 'object' && 'error' in detail)
}

/** Whether a response with this detail may be older than its freshness lifetime. */
export function isStale(detail: CacheDetail | undefined): detail is 'stale-while-revalidate' | StaleIfError {
  return detail === 'stale-while-revalidate' || isStaleIfError(detail)
}

/** Why a response is not from the cache: the words of RFC 9211 section 2.2, and what they mean. */
export const forwardReasons = {
  'uri-miss': { outcome: 'miss', text: 'No response was stored.' },
  stale: { outcome: 'miss', text: 'The stored response had expired.' },
  request: { outcome: 'bypass', text: 'The client asked for a new response with Cache-Control.' },
  bypass: { outcome: 'bypass', text: 'The cache was not used.' },
} as const

/** How the cache handled a request, in the words of RFC 9211 section 2. `ttl` in milliseconds; negative if stale. */
export interface CacheStatus {
  readonly hit?: true
  readonly fwd?: keyof typeof forwardReasons
  readonly stored?: true
  readonly collapsed?: true
  readonly ttl?: number
  readonly detail?: CacheDetail
}

/** `bypass`: not cacheable, or the cache was not used; `none`: the request was rejected or failed before the cache. */
export const CACHE_OUTCOMES = ['hit', 'stale', 'miss', 'bypass', 'none'] as const
export type CacheOutcome = (typeof CACHE_OUTCOMES)[number]

/** `none`: the cache would not have answered, so there is nothing to compare. */
export type TrialComparison = 'same' | 'different' | 'inconclusive' | 'none'

export function cacheOutcomeOf({ hit, fwd, detail, ttl }: CacheStatus): CacheOutcome {
  if (isStale(detail) || (detail === WITHOUT_REDIS && (ttl ?? 0) < 0)) return 'stale'
  if (hit) return 'hit'
  return forwardReasons[fwd ?? 'bypass'].outcome
}

/** A snapshot whose rows this process has. Counts since it was first used here. */
export interface SnapshotState {
  /** As in the index. */
  readonly url: string
  readonly group: string
  readonly rows: number
  readonly bytes: number
  /** Requests that were answered from a stored snapshot: each saved one call. */
  readonly queries: number
  /** Calls to nodes that built it, each time. */
  readonly calls: number
  /** Whether the queries would have taken these calls without a snapshot too: a page can be cut from all rows only. */
  readonly needsAllRows: boolean
}

/**
 * Why a stored response left the memory of a process. `limit`: it could be served, and made room for another one. `expired`:
 * its time was over. `invalidated`: a write, a purge or a gap in the invalidations has ended its use. `replaced`: a newer
 * response for the same key took its place.
 */
export type EvictionReason = 'limit' | 'expired' | 'invalidated' | 'replaced'

/** The stored responses in the memory of this process. */
export interface LocalState {
  readonly bytes: number
  readonly entries: number
  readonly limit: number
  /** Responses that were removed since the start. Each stored response is either among `entries` or counted here once. */
  readonly evictions: Readonly<Record<EvictionReason, number>>
}

/** The memory of Redis; of a Redis Cluster, the sums over its primaries. */
export interface RedisMemory {
  readonly bytes: number
  /** `maxmemory`. Absent: a primary has none. */
  readonly limit?: number
  /** The share of its limit that the fullest primary uses. Absent: none has a limit. */
  readonly fullest?: number
  /** `maxmemory-policy`, such as `volatile-lru`. */
  readonly policy: string
  /** Keys that Redis has removed since it started. */
  readonly evictions: { readonly limit: number; readonly expired: number }
}

/** `up`: the shared store is reachable; always true without one. */
export interface CacheStoreState {
  readonly up: boolean
  readonly local: LocalState
}

/** What is wrong with Redis, and what to do. */
export interface RedisFault {
  readonly reason: 'redisUnreachable' | 'redisSlow' | 'redisFull'
  readonly detail: string
}
