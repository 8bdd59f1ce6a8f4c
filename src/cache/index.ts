/** Builds the cache: a stage around reads, a stage around writes, and what explains it. */
import type { NodeReads } from '../core/node-call.ts'
import type { Caller } from '../core/request.ts'
import { systemClock } from '../core/timing.ts'
import { createTargetResolver, scopeOf, type TargetOptions } from './key.ts'
import { LateFetches } from './late-fetches.ts'
import type { ReadThroughPorts } from './read-path.ts'
import { readThrough } from './read-through.ts'
import { REFRESH_AHEAD, type RefreshAheadOptions, WaitingRefreshes } from './refresh-ahead.ts'
import { createReplicationLag } from './replication-lag.ts'
import { SnapshotRows } from './snapshots/rows.ts'
import { trial } from './trial.ts'
import { invalidate } from './writes.ts'

export interface CacheOptions
  extends Pick<ReadThroughPorts, 'store' | 'limits' | 'hasIdleCapacity' | 'isSilent' | 'isSaturated' | 'firstNode'>,
    Pick<ReadThroughPorts, 'settings' | 'waitForRead' | 'isOnlyReplica' | 'outageFor' | 'onEvent'>,
    TargetOptions {
  /** Read for each request: the layout of the nodes may change. */
  readonly nodeReads: () => NodeReads
  /** Absent: the clock of the system. */
  readonly clock?: () => number
  /** Absent: `REFRESH_AHEAD`. */
  readonly refreshAhead?: RefreshAheadOptions
  /** Reads are answered by the nodes and compared with what the cache would have served. */
  readonly trial?: boolean
}

export type CacheStages = ReturnType<typeof createCache>

export function createCache(options: CacheOptions) {
  const { store, settings, nodeReads, onEvent, clock = systemClock.elapsed, refreshAhead = REFRESH_AHEAD } = options
  const replicationLag = createReplicationLag({ settings, clock })
  const resolveTarget = createTargetResolver(options)
  const rows = new SnapshotRows({ shared: store.parts, maxBytes: () => settings().snapshots.localBytes })
  const waiting = new WaitingRefreshes()
  const cacheStage = readThrough({
    ...options,
    resolveTarget,
    replicationLag,
    clock,
    lateFetches: new LateFetches(clock),
    refreshAhead,
    waiting,
    // A trial compares every hit.
    ...(options.trial ? { neverCollapses: true } : { divergenceSettings: settings }),
    snapshots: { rows, nodeReads },
  })
  return {
    explained: { settings, resolveTarget, nodeReads, index: store },
    /** Returns the scope of the stored responses that the caller may be served. */
    scopeOf: (caller: Caller) => scopeOf(caller, options.key()),
    waiting,
    snapshots: () => rows.states(),
    readThrough: options.trial ? trial({ store, resolveTarget, onEvent }, cacheStage) : cacheStage,
    invalidate: invalidate({ ...options, replicationLag, clock }),
  }
}
