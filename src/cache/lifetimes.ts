/** How long responses are fresh, and how long they may be served stale. */
import type { CacheGroup } from '../contracts/endpoint.ts'
import { NEVER_STALE } from '../core/stored-response.ts'
import { ownEntry } from '../core/values.ts'
import type { CompiledPolicy } from './policy.ts'
import type { StaleTimes } from './stores/local-entries.ts'

/** Milliseconds that a response is fresh after its arrival, and that it may be served after that (RFC 5861). */
export interface FreshnessLifetimes {
  readonly ttl: number
  /** `automatic`: by TTL and fetch time. */
  readonly staleWhileRevalidate: number | 'automatic'
  readonly staleIfError: number
  /** While no node answers. Absent: not beyond the other times. */
  readonly outage?: number
  /** While Redis is unreachable. Absent: the nodes are called. */
  readonly withoutRedis?: number
}

/** Returns the lifetimes of a cache group; `name`: of an endpoint (core/request.ts), which may have its own. */
export type LifetimesOf = (group: CacheGroup, name: string) => FreshnessLifetimes

/** The settings of lifetimes, in milliseconds: by endpoint, by cache group, and of all other groups. */
interface TtlSettings {
  readonly endpoints: Readonly<Record<string, number | undefined>>
  readonly ttl: Readonly<Record<string, number>>
  readonly defaultTtl: number
}

/** Returns the freshness lifetime of an endpoint. Other replicas may have reported its names. */
export function ttlOf({ endpoints, ttl, defaultTtl }: TtlSettings, group: string, name: string): number {
  return ownEntry(endpoints, name) ?? ownEntry(ttl, group) ?? defaultTtl
}

const MIN_AUTOMATIC_MS = 3000
/** Also at the limit of a node. */
export const MAX_AUTOMATIC_MS = 30_000
/** The refresh is given the time of two fetches, because fetch times vary. */
const AUTOMATIC_FETCH_TIMES = 2
/** Clients act on a status, so this bound does not grow with TTL and fetch time. */
const MAX_STALE_WHILE_HOT_MS = 3000

/** Returns when a response may be served stale. A refusal by rights is no status that clients act on, whatever the endpoint is. */
export function staleRuleOf({ stale }: Pick<CompiledPolicy, 'stale'>, errorNumber: number): CompiledPolicy['stale'] {
  return errorNumber === 0 ? stale : 'allowed'
}

/** Returns how long after its freshness lifetime a response may be served. `fetchTime`: milliseconds of its fetch. */
export function staleTimesOf(
  { stale }: Pick<CompiledPolicy, 'stale'>,
  lifetimes: FreshnessLifetimes,
  fetchTime: number,
): StaleTimes {
  const { ttl, staleWhileRevalidate: setting, staleIfError, outage = 0, withoutRedis = 0 } = lifetimes
  const degraded = { staleInOutage: outage, staleWithoutRedis: withoutRedis }
  const duringRefresh = setting === 'automatic' ? automaticStale(ttl, fetchTime) : setting
  if (stale === 'allowed') return { staleWhileRevalidate: duringRefresh, staleIfError, ...degraded, staleWhileHot: 0 }
  if (stale === 'never') return NEVER_STALE
  return { ...NEVER_STALE, ...degraded, staleWhileHot: Math.min(duringRefresh, MAX_STALE_WHILE_HOT_MS) }
}

/** Returns how long a response may be served stale while a refresh is expected to take `fetchTime`; all in milliseconds. */
function automaticStale(ttl: number, fetchTime: number): number {
  return Math.min(Math.max(ttl, MIN_AUTOMATIC_MS, AUTOMATIC_FETCH_TIMES * fetchTime), MAX_AUTOMATIC_MS)
}
