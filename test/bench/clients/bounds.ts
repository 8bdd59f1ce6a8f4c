/** The greatest age that the edge declares for a response, from the settings of the replicas and the measured fetch time. */
import { MAX_AUTOMATIC_MS, staleTimesOf } from '../../../src/cache/lifetimes.ts'
import { compilePolicy } from '../../../src/cache/policy.ts'
import type { Config } from '../../../src/config/schema.ts'
import type { Session } from './session.ts'

/** The declared bound of a GET of the session. */
export interface AgeBound {
  readonly group: string
  /** Seconds, all of them together, for a fetch time in milliseconds. */
  seconds(fetchMs: number): number
  /** The same of a refusal by rights, which is no status, whatever the endpoint is. */
  secondsOfRefusal(fetchMs: number): number
}

/** Returns the bounds in the order of the session. Throws if the cache may not store one of the responses. */
export function ageBounds({ gets, catalogue }: Session, { cache, cluster }: Config): readonly AgeBound[] {
  // At its limit of calls per minute, fetches may be late.
  const atLimit = cluster.layout === 'v4' ? Math.max(MAX_AUTOMATIC_MS, cache.staleIfError) : 0
  return gets.map(({ path }) => {
    const record = catalogue.find((each) => each.method === 'GET' && each.path === path)
    const policy = record === undefined ? 'it is no endpoint' : compilePolicy(record)
    if (typeof policy === 'string') throw new Error(`${path} has no response that may be stored: ${policy}`)
    const { group } = policy
    const ttls: Readonly<Record<string, number | undefined>> = { ...cache.ttl, ...cache.endpoints }
    const ttl = ttls[path] ?? ttls[group] ?? cache.defaultTtl
    const stales: Readonly<Record<string, number | undefined>> = cache.staleWhileRevalidate
    const lifetimes = { ttl, staleWhileRevalidate: stales[group] ?? 'automatic', staleIfError: 0 } as const
    const secondsBy = (stale: typeof policy.stale, fetchMs: number) => {
      const { staleWhileRevalidate, staleWhileHot = 0 } = staleTimesOf({ stale }, lifetimes, fetchMs)
      const whileWaiting = stale === 'allowed' ? atLimit : 0
      return (ttl + fetchMs + Math.max(staleWhileRevalidate + staleWhileHot, whileWaiting)) / 1000
    }
    return {
      group,
      seconds: (fetchMs) => secondsBy(policy.stale, fetchMs),
      secondsOfRefusal: (fetchMs) => secondsBy('allowed', fetchMs),
    }
  })
}
