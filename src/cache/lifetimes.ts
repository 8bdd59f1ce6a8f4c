/** How long a response is served: fresh after its arrival, and stale after that. */
import type { CacheGroup } from '../catalogue/endpoint.ts'
import type { StoredResponse } from '../core/response.ts'
import type { CompiledPolicy } from './policy.ts'

/** Milliseconds that a response is fresh after its arrival, and that it may be served after that (RFC 5861). */
export interface FreshnessLifetimes {
  readonly ttl: number
  /** `automatic`: by TTL and fetch time. */
  readonly staleWhileRevalidate: number | 'automatic'
  readonly staleIfError: number
}

/** Returns the lifetimes of a cache group; `endpoint` is a route template, which may have its own. */
export type LifetimesOf = (group: CacheGroup, endpoint: string) => FreshnessLifetimes

export type StaleTimes = Pick<StoredResponse, 'staleWhileRevalidate' | 'staleIfError' | 'staleWhileHot'>

const MIN_AUTOMATIC_MS = 3000
const MAX_AUTOMATIC_MS = 30_000
/** The refresh is given the time of two fetches, because fetch times vary. */
const AUTOMATIC_FETCH_TIMES = 2
/** Clients act on a status, so this bound does not grow with TTL and fetch time. */
const MAX_STALE_WHILE_HOT_MS = 3000

/** Returns how long after its freshness lifetime a response may be served. `fetchTime`: milliseconds of its fetch. */
export function staleTimesOf({ stale }: CompiledPolicy, lifetimes: FreshnessLifetimes, fetchTime: number): StaleTimes {
  const { ttl, staleWhileRevalidate: setting, staleIfError } = lifetimes
  const automatic = Math.max(ttl, MIN_AUTOMATIC_MS, AUTOMATIC_FETCH_TIMES * fetchTime)
  const duringRefresh = setting === 'automatic' ? Math.min(automatic, MAX_AUTOMATIC_MS) : setting
  if (stale === 'allowed') return { staleWhileRevalidate: duringRefresh, staleIfError }
  const none = { staleWhileRevalidate: 0, staleIfError: 0 }
  if (stale === 'never') return none
  return { ...none, staleWhileHot: Math.min(duringRefresh, MAX_STALE_WHILE_HOT_MS) }
}
