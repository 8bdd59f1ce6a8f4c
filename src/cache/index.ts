/** Builds the cache: a stage around reads, a stage around writes, and what explains it. */
import type { Caller, EdgeRead } from '../core/request.ts'
import { systemClock } from '../core/timing.ts'
import type { CachePorts } from './call-nodes.ts'
import type { DivergenceCheckSettings } from './compare-responses.ts'
import { createTargetResolver, scopesOf, type TargetOptions } from './key.ts'
import { LateFetches } from './late-fetches.ts'
import type { ReadThroughPorts } from './read-path.ts'
import { readThrough } from './read-through.ts'
import { MIN_HITS, type RefreshAheadOptions, WaitingRefreshes } from './refresh-ahead.ts'
import { createReplicationLag } from './replication-lag.ts'
import type { SnapshotSettings } from './snapshots/build.ts'
import { derivableOf } from './snapshots/derivable.ts'
import { type NodeReads, V3_READS } from './snapshots/derivation.ts'
import { SnapshotRows } from './snapshots/rows.ts'
import { trial } from './trial.ts'
import { type InvalidatePorts, invalidate } from './writes.ts'

/** Absent: no node is known, silent or at its limit, and events are not observed. */
type OptionalPorts = Partial<
  Pick<
    ReadThroughPorts,
    'isSilent' | 'isSaturated' | 'firstNode' | 'waitForRead' | 'clock' | 'onEvent' | 'refreshAhead'
  >
>

/** What the cache reads of the section `cache` of the settings. A reload may change each of them. */
export interface CacheSettings {
  /** Milliseconds after a write for which reads of replicated data go to the master only. */
  readonly replicationLag: number
  readonly divergenceCheck: DivergenceCheckSettings
  readonly snapshots: SnapshotSettings
}

export interface CacheOptions
  extends Pick<CachePorts, 'store' | 'limits' | 'hasIdleCapacity'>,
    TargetOptions,
    OptionalPorts,
    Pick<InvalidatePorts, 'outageFor'> {
  /** Read for each request: the layout of the nodes may change. Absent: the v3 one. */
  readonly nodeReads?: () => NodeReads
  readonly settings: () => CacheSettings
  /** Whether no other replica writes. Absent: one may. */
  readonly isOnlyReplica?: () => boolean
  /** Reads are answered by the nodes and compared with what the cache would have served. */
  readonly trial?: boolean
}

const REFRESH_AHEAD: RefreshAheadOptions = { maxConcurrent: 4, minHits: MIN_HITS }

export type CacheStages = ReturnType<typeof createCache>

export function createCache(options: CacheOptions) {
  const { store, limits, lifetimesOf, hasIdleCapacity, settings } = options
  const { clock = systemClock.elapsed, onEvent = () => {}, nodeReads = () => V3_READS } = options
  const replicationLag = createReplicationLag({ settings, clock })
  const resolveTarget = createTargetResolver(options)
  const snapshots = () => settings().snapshots
  const rows = new SnapshotRows({ shared: store.parts, maxBytes: () => snapshots().localBytes })
  const waiting = new WaitingRefreshes()
  const cacheStage = readThrough({
    store,
    resolveTarget,
    replicationLag,
    lifetimesOf,
    limits,
    clock,
    hasIdleCapacity,
    isSilent: options.isSilent ?? (() => false),
    isSaturated: options.isSaturated ?? (() => false),
    firstNode: options.firstNode ?? (() => undefined),
    lateFetches: new LateFetches(clock),
    ...(options.outageFor && { outageFor: options.outageFor }),
    waitForRead: options.waitForRead ?? (() => 0),
    onEvent,
    refreshAhead: options.refreshAhead ?? REFRESH_AHEAD,
    waiting,
    // A trial compares every hit.
    ...(options.trial ? { neverCollapses: true } : { divergenceSettings: settings }),
    isOnlyReplica: options.isOnlyReplica ?? (() => false),
    snapshots: { snapshots, rows, nodeReads },
  })
  return {
    explained: {
      resolveTarget,
      snapshotTargetOf: (request: EdgeRead) => derivableOf({ snapshots, resolveTarget, nodeReads }, request)?.target,
      index: store,
    },
    /** Returns the scopes of the stored responses that the caller may be served. */
    scopesOf: (caller: Caller) => scopesOf(caller, options.key()),
    waiting,
    /** Returns the snapshots whose rows this process has. */
    snapshots: () => rows.states(),
    readThrough: options.trial ? trial({ store, resolveTarget, onEvent }, cacheStage) : cacheStage,
    invalidate: invalidate({ ...options, replicationLag, onEvent, clock }),
  }
}
