/** How long responses are fresh, and how long they are served stale, by group and by endpoint. */
import { type FreshnessLifetimes, type LifetimesOf, staleTimesOf } from './lifetimes.ts'
import type { CompiledPolicy } from './policy.ts'

/** All in milliseconds. `automatic`: by TTL and fetch time. */
interface Lifetimes {
  readonly ttlMs: number
  readonly staleWhileRevalidateMs: number | 'automatic'
  readonly staleIfErrorMs: number
  /** Absent: not served longer while no node answers. */
  readonly outageMs?: number
  /** Of a status that clients act on: served stale during a refresh only while it is requested often. */
  readonly staleWhileHotMs?: number
}

/** `policies`: of all endpoints whose responses are stored, by path. */
export function effectiveLifetimes(policies: ReadonlyMap<string, CompiledPolicy>, lifetimesOf: LifetimesOf) {
  const groups = [...new Set([...policies.values()].map(({ group }) => group))].sort()
  return {
    // Of endpoints without their own TTL, and whose responses may be served stale: no endpoint has an empty path.
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
  const { staleWhileRevalidate, staleIfError, staleInOutage, staleWhileHot } = staleTimesOf(policy, lifetimes, 0)
  return {
    ...inMilliseconds({ ttl: lifetimes.ttl, staleWhileRevalidate, staleIfError, outage: staleInOutage }),
    ...(policy.stale === 'whileHot' && { staleWhileHotMs: staleWhileHot }),
  }
}

function inMilliseconds({ ttl, staleWhileRevalidate, staleIfError, outage = 0 }: FreshnessLifetimes): Lifetimes {
  const times = { ttlMs: ttl, staleWhileRevalidateMs: staleWhileRevalidate, staleIfErrorMs: staleIfError }
  return outage > 0 ? { ...times, outageMs: outage } : times
}
