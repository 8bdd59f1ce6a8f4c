/** How long a response is served: fresh after its arrival, and stale after that; and the lifetimes for `GET /cache/config`. */
import type { CacheGroup } from '../catalogue/endpoint.ts'
import { ownEntry } from '../core/values.ts'
import type { CompiledPolicy } from './policy.ts'
import type { StaleTimes } from './stores/local-entries.ts'

/** Milliseconds that a response is fresh after its arrival, and that it may be served after that (RFC 5861). */
export interface FreshnessLifetimes {
  readonly ttl: number
  /** `automatic`: by TTL and fetch time. */
  readonly staleWhileRevalidate: number | 'automatic'
  readonly staleIfError: number
}

/** Returns the lifetimes of a cache group; `name`: of an endpoint (core/request.ts), which may have its own. */
export type LifetimesOf = (group: CacheGroup, name: string) => FreshnessLifetimes

/** The settings of lifetimes, in milliseconds: by endpoint, by cache group, and of all other groups. */
export interface TtlSettings {
  readonly endpoints: Readonly<Record<string, number | undefined>>
  readonly ttl: Readonly<Record<string, number>>
  readonly defaultTtl: number
}

/** Returns the freshness lifetime of an endpoint. Other replicas may have reported its names. */
export function ttlOf({ endpoints, ttl, defaultTtl }: TtlSettings, group: string, name: string): number {
  return ownEntry(endpoints, name) ?? ownEntry(ttl, group) ?? defaultTtl
}

const MIN_AUTOMATIC_MS = 3000
const MAX_AUTOMATIC_MS = 30_000
/** The refresh is given the time of two fetches, because fetch times vary. */
const AUTOMATIC_FETCH_TIMES = 2
/** Clients act on a status, so this bound does not grow with TTL and fetch time. */
const MAX_STALE_WHILE_HOT_MS = 3000

/** Returns how long after its freshness lifetime a response may be served. `fetchTime`: milliseconds of its fetch. */
export function staleTimesOf({ stale }: CompiledPolicy, lifetimes: FreshnessLifetimes, fetchTime: number): StaleTimes {
  const { ttl, staleWhileRevalidate: setting, staleIfError } = lifetimes
  const duringRefresh = setting === 'automatic' ? automaticStale(ttl, fetchTime) : setting
  if (stale === 'allowed') return { staleWhileRevalidate: duringRefresh, staleIfError }
  const none = { staleWhileRevalidate: 0, staleIfError: 0 }
  if (stale === 'never') return none
  return { ...none, staleWhileHot: Math.min(duringRefresh, MAX_STALE_WHILE_HOT_MS) }
}

/** Returns how long a response may be served stale while a refresh is expected to take `fetchTime`; all in milliseconds. */
export function automaticStale(ttl: number, fetchTime: number): number {
  return Math.min(Math.max(ttl, MIN_AUTOMATIC_MS, AUTOMATIC_FETCH_TIMES * fetchTime), MAX_AUTOMATIC_MS)
}

/** All in milliseconds. `automatic`: by TTL and fetch time. */
interface Lifetimes {
  readonly ttlMs: number
  readonly staleWhileRevalidateMs: number | 'automatic'
  readonly staleIfErrorMs: number
  /** Of a status that clients act on: served stale during a refresh only while it is requested often. */
  readonly staleWhileHotMs?: number
}

/** `policies`: of all endpoints whose responses are stored, by path. */
export function effectiveLifetimes(policies: ReadonlyMap<string, CompiledPolicy>, lifetimesOf: LifetimesOf) {
  const groups = [...new Set([...policies.values()].map(({ group }) => group))].sort()
  return {
    // Of endpoints without a TTL of their own, and whose responses may be served stale: no endpoint has an empty path.
    groups: Object.fromEntries(groups.map((group) => [group, inMilliseconds(lifetimesOf(group, ''))])),
    endpoints: Object.fromEntries(
      [...policies].map(([path, policy]) => {
        const { group } = policy
        return [path, { group, ...ofEndpoint(policy, lifetimesOf(group, path)) }]
      }),
    ),
  }
}

function ofEndpoint(policy: CompiledPolicy, lifetimes: FreshnessLifetimes): Lifetimes {
  if (policy.stale === 'allowed') return inMilliseconds(lifetimes)
  const { staleWhileRevalidate, staleIfError, staleWhileHot } = staleTimesOf(policy, lifetimes, 0)
  return {
    ...inMilliseconds({ ttl: lifetimes.ttl, staleWhileRevalidate, staleIfError }),
    ...(staleWhileHot !== undefined && { staleWhileHotMs: staleWhileHot }),
  }
}

function inMilliseconds({ ttl, staleWhileRevalidate, staleIfError }: FreshnessLifetimes): Lifetimes {
  return { ttlMs: ttl, staleWhileRevalidateMs: staleWhileRevalidate, staleIfErrorMs: staleIfError }
}
