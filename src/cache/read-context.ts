/** What the parts of the cache share: their ports, one read, and how its fetch ended. */

import type { CacheSettings } from '../config/schema.ts'
import type { CacheIndex } from '../core/cache-index.ts'
import type { CacheEvent } from '../core/events.ts'
import type { EdgeRead } from '../core/request.ts'
import type { CacheableResponse, ReadResponse } from '../core/response.ts'
import type { AgedResponse, Lookup } from '../core/stored-response.ts'
import type { TimeLimits } from '../core/timing.ts'
import type { CacheTarget, ResolveTarget } from './key.ts'
import type { LateFetches } from './late-fetches.ts'
import type { LifetimesOf } from './lifetimes.ts'
import type { ReplicationLag } from './replication-lag.ts'
import type { CacheStore } from './stores/contract.ts'

export interface CachePorts {
  readonly store: CacheStore & Pick<CacheIndex, 'peek'>
  readonly resolveTarget: ResolveTarget
  readonly settings: () => CacheSettings
  readonly lifetimesOf: LifetimesOf
  readonly replicationLag: ReplicationLag
  readonly limits: () => TimeLimits
  readonly isOnlyReplica: () => boolean
  /** Whether the nodes have capacity for a call that no client waits for. */
  readonly hasIdleCapacity: (request: EdgeRead) => boolean
  /** Returns the milliseconds until the limits of the node that would be called permit one more read, after `others`. */
  readonly waitForRead: (request: EdgeRead, others: number) => number
  /** Returns the node that would be called first; `undefined`: it is not known before the call. */
  readonly firstNode: (request: EdgeRead) => string | undefined
  readonly lateFetches: LateFetches
  /** Returns the milliseconds until a node that answers none is asked again; `undefined`: a node answers. Absent: no outage mode. */
  readonly outageFor?: () => number | undefined
  /** Milliseconds, monotonic. */
  readonly clock: () => number
  readonly onEvent: (event: CacheEvent) => void
  /** Each request makes its own call to the nodes, because a shared one may have begun before the request. */
  readonly neverCollapses?: true
}

/** One read: the request, its place in the cache, and the result of the lookup when the request came in. */
export interface ReadContext {
  readonly request: EdgeRead
  readonly target: CacheTarget
  readonly lookup: Lookup
}

/** How a fetch ended. `collapsed`: another request caused the call to the nodes. */
export type FetchResult = { readonly collapsed?: true } & (
  | {
      /** A success that the cache and clients may store. It is not stored if it is stale, because a part of it is. */
      readonly kind: 'cacheable'
      readonly response: CacheableResponse
      readonly entry: AgedResponse
      /** The store confirmed that it has the response. */
      readonly stored?: true
    }
  /** `uncacheable`: a success that may not be stored. `refused`: an error of the manager, which its nodes did not cause. */
  | { readonly kind: 'uncacheable' | 'refused'; readonly response: ReadResponse }
  /** The response reports that nodes failed. */
  | { readonly kind: 'failed'; readonly response: ReadResponse; readonly code: number }
)

/** Whether the edge computes responses of a collection: from snapshots, or in an outage from a response that has all rows. */
export function computesResponses({ target: { policy, lifetimes } }: ReadContext): boolean {
  const { outage = 0 } = lifetimes
  return policy.snapshot !== undefined || (policy.rows !== undefined && outage > 0)
}

/** Whether responses of the local tier are served while Redis is unreachable. */
export function servesWithoutRedis(ports: CachePorts, { target }: ReadContext): boolean {
  return ports.isOnlyReplica() || target.lifetimes.withoutRedis !== undefined
}

/** Returns what the local tier has of a response, if it is served while Redis is unreachable. */
export function lookUpWithoutRedis(ports: CachePorts, context: ReadContext): Lookup | undefined {
  const { key, tags } = context.target
  return servesWithoutRedis(ports, context) ? ports.store.lookupWithoutRedis?.(key, tags) : undefined
}

/** Returns the milliseconds within which a stored response must have arrived; `undefined`: it may also be stale. */
export function arrivalLimitOf({ reuse }: EdgeRead): number | undefined {
  return typeof reuse === 'object' ? reuse.arrivedWithin : undefined
}
