/** Builds the cache: a stage around reads, a stage around writes, and what explains it. */
import type { Caller, EdgeRead } from '../core/request.ts'
import { systemClock } from '../core/timing.ts'
import type { CachePorts } from './call-nodes.ts'
import { createTargetResolver, scopesOf, type TargetOptions } from './key.ts'
import { type ReadThroughPorts, readThrough } from './read-through.ts'
import { MIN_HITS, type RefreshAheadOptions } from './refresh-ahead.ts'
import type { SnapshotSettings } from './snapshots/build.ts'
import { CLASSIC_READS, type NodeReads } from './snapshots/builds.ts'
import { SnapshotRows } from './snapshots/rows.ts'
import { derivableOf } from './snapshots/stage.ts'
import { trial } from './trial.ts'
import { createReplicationLag, invalidate } from './writes.ts'

export type { FreshnessLifetimes } from './policy.ts'

/** Absent: no node is known to be silent or at its limit, events are not observed, and hits are not verified. */
type OptionalPorts = Partial<
  Pick<ReadThroughPorts, 'isSilent' | 'waitForRead' | 'clock' | 'onEvent' | 'refreshAhead' | 'divergenceCheck'>
>

export interface CacheOptions
  extends Pick<CachePorts, 'store' | 'limits' | 'hasIdleCapacity'>,
    TargetOptions,
    OptionalPorts {
  /** Read for each request: the layout of the nodes may change. Absent: the classic one. */
  readonly nodeReads?: () => NodeReads
  /** Milliseconds after a write for which reads of replicated data go to the master only. */
  readonly replicationLag?: () => number
  /** Absent: no response is computed from a snapshot of its collection. */
  readonly snapshots?: () => SnapshotSettings
  /** Reads are answered by the nodes and compared with what the cache would have served. */
  readonly trial?: boolean
}

/** Two checks of the worker nodes, which check for changes every 9 s. */
const REPLICATION_LAG_MS = 18_000
const REFRESH_AHEAD: RefreshAheadOptions = { maxConcurrent: 4, minHits: MIN_HITS }

export type CacheStages = ReturnType<typeof createCache>

export function createCache(options: CacheOptions) {
  const { store, nodes, limits, lifetimesOf, hasIdleCapacity, divergenceCheck } = options
  const { clock = systemClock.elapsed, onEvent = () => {}, nodeReads = () => CLASSIC_READS } = options
  const replicationLag = createReplicationLag({ period: options.replicationLag ?? (() => REPLICATION_LAG_MS), clock })
  const resolveTarget = createTargetResolver(options)
  const { snapshots } = options
  const maxBytes = () => snapshots?.().localBytes ?? 0
  const rows = new SnapshotRows({ shared: store.parts, maxBytes })
  const cacheStage = readThrough({
    store,
    resolveTarget,
    replicationLag,
    lifetimesOf,
    limits,
    clock,
    hasIdleCapacity,
    isSilent: options.isSilent ?? (() => false),
    waitForRead: options.waitForRead ?? (() => 0),
    onEvent,
    refreshAhead: options.refreshAhead ?? REFRESH_AHEAD,
    // A trial compares every hit.
    ...(options.trial ? { neverCollapses: true } : divergenceCheck && { divergenceCheck }),
    ...(snapshots && { snapshots: { snapshots, rows, nodeReads } }),
  })
  return {
    resolveTarget,
    /** Returns the scopes of the stored responses that the caller may be served. */
    scopesOf: (caller: Caller) => scopesOf(caller, options.key()),
    /** Returns the snapshots whose rows this process has. */
    snapshots: () => rows.states(),
    /** Returns the place of the snapshot that can answer a request; `undefined`: there is none. */
    snapshotTargetOf: (request: EdgeRead) =>
      snapshots ? derivableOf({ snapshots, resolveTarget }, request)?.target : undefined,
    readThrough: options.trial ? trial({ store, resolveTarget, onEvent }, cacheStage) : cacheStage,
    invalidate: invalidate({ store, replicationLag, nodes, onEvent, limits, clock }),
  }
}
