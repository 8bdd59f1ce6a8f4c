/** The lifetimes that apply, for `GET /cache/config`. */
import type { CacheGroup } from '../catalogue/endpoint.ts'
import { type FreshnessLifetimes, type LifetimesOf, staleTimesOf } from './lifetimes.ts'
import type { CompiledPolicy } from './policy.ts'

/** All in milliseconds. `automatic`: by TTL and fetch time. */
interface Lifetimes {
  readonly ttlMs: number
  readonly staleWhileRevalidateMs: number | 'automatic'
  readonly staleIfErrorMs: number
  /** Of a status that clients act on: served stale during a refresh only while it is requested often. */
  readonly staleWhileHotMs?: number
}

export interface EffectiveLifetimes {
  /** Of endpoints without a TTL of their own, and whose responses may be served stale. */
  readonly groups: Readonly<Record<string, Lifetimes>>
  readonly endpoints: Readonly<Record<string, Lifetimes & { readonly group: CacheGroup }>>
}

/** `policies`: of all endpoints whose responses are stored, by path. */
export function effectiveLifetimes(
  policies: ReadonlyMap<string, CompiledPolicy>,
  lifetimesOf: LifetimesOf,
): EffectiveLifetimes {
  const groups = [...new Set([...policies.values()].map(({ group }) => group))].sort()
  return {
    // No endpoint has an empty path, so none has a TTL of its own here.
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
