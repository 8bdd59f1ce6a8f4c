/** The cache in two stages, around reads and around writes, and what explains it. */

import type { CacheEvent } from '../core/events.ts'
import type { EdgeRequest, Handler, Stage } from '../core/request.ts'
import type { CacheIndex } from '../core/response.ts'
import type { FetchPorts } from './fetch.ts'
import { createReplicationLag, invalidate } from './invalidate.ts'
import type { KeySettings } from './key.ts'
import { createTargetResolver, type ResolveTarget } from './policy.ts'
import { createRefreshAhead, type RefreshAheadOptions, readThrough } from './read-through.ts'
import type { CacheStore } from './stores/contract.ts'
import type { VerifySettings } from './verify.ts'

export type { FreshnessLifetimes } from './fetch.ts'

export interface CacheOptions {
  readonly store: CacheStore & Pick<CacheIndex, 'peek'>
  readonly key: KeySettings
  readonly lifetimesOf: FetchPorts['lifetimesOf']
  /** Name of the master. */
  readonly master: () => string
  /** All nodes, master first; the same array as long as they are the same. */
  readonly nodes: () => readonly { readonly name: string }[]
  /** Milliseconds that a call to the nodes may take; `slowTimeout` for records that are slow by nature. */
  readonly timeout: number
  readonly slowTimeout: number
  /** May a node be asked now for something that nobody waits for? */
  readonly hasIdleCapacity: (ask: EdgeRequest) => boolean
  readonly refreshAhead?: RefreshAheadOptions
  /** Milliseconds after a write for which workers are not asked for what they copy from the master. */
  readonly replicationLag?: number
  /** Hears what happens to kept answers. */
  readonly onEvent?: (event: CacheEvent) => void
  /** A share of the hits is asked of the nodes as well; absent: none. */
  readonly verify?: VerifySettings
  /** Milliseconds, monotonic. */
  readonly clock?: () => number
}

export interface CacheStages {
  /** Around reads. */
  readonly readThrough: (next: Handler) => Handler
  /** Around writes. */
  readonly invalidate: Stage
  readonly resolveTarget: ResolveTarget
}

/** Two rounds of the workers, which look every 9 s (contract/semantics.md section 4). */
const TWO_ROUNDS = 18_000
/** A holder of a fill counts as dead so many milliseconds after its call must be over. */
const GRACE = 2000
const HOT: RefreshAheadOptions = { maxConcurrent: 2, minHits: 3 }

export function createCache(options: CacheOptions): CacheStages {
  const { store, master, nodes, timeout, slowTimeout, lifetimesOf: durationsOf, hasIdleCapacity: spare } = options
  const clock = options.clock ?? (() => performance.now())
  const onEvent = options.onEvent ?? (() => {})
  const copied = createReplicationLag({ period: options.replicationLag ?? TWO_ROUNDS, clock })
  const prepare = createTargetResolver({ key: options.key, master, nodes, lifetimesOf: durationsOf })
  const patience = ({ endpoint }: EdgeRequest) => (endpoint.slow ? slowTimeout : timeout) + GRACE
  return {
    resolveTarget: prepare,
    readThrough: readThrough({
      store,
      resolveTarget: prepare,
      replicationLag: copied,
      lifetimesOf: durationsOf,
      lockTimeout: patience,
      clock,
      hasIdleCapacity: spare,
      onEvent,
      refreshAhead: createRefreshAhead(options.refreshAhead ?? HOT),
      ...(options.verify && { verify: options.verify }),
    }),
    invalidate: invalidate({ store, replicationLag: copied, master, onEvent }),
  }
}
