/** Fetches snapshots: reads all rows of a collection, stores them, and returns the response that names them. */
import type { CacheGroup } from '../../catalogue/endpoint.ts'
import { isNodeFailure } from '../../core/envelope.ts'
import type { CacheEvent, SnapshotRefusal } from '../../core/events.ts'
import type { EdgeRead, Handler } from '../../core/request.ts'
import type { EdgeResponse } from '../../core/response.ts'
import type { Source } from '../../query/sources.ts'
import type { CacheTarget, ResolveTarget } from '../key.ts'
import { type LifetimesOf, staleTimesOf } from '../lifetimes.ts'
import type { CacheStore } from '../stores/contract.ts'
import { staleBound } from '../stores/local-entries.ts'
import {
  type CollectionRows,
  callsFor,
  type NodeReads,
  readCollection,
  readJoined,
  type SnapshotLimits,
  SnapshotRefusedError,
} from './build.ts'
import { type SnapshotDemands, snapshotSourceOf } from './builds.ts'
import { parseHead, type SnapshotHead, type SnapshotRows, toResponse } from './rows.ts'

export interface SnapshotSettings extends SnapshotLimits {
  /** The cache groups whose collections have snapshots. */
  readonly groups: readonly CacheGroup[]
  /** The maximum of the bytes of all rows in this process, as text. */
  readonly localBytes: number
}

export interface SnapshotPorts {
  readonly store: Pick<CacheStore, 'lookup' | 'parts'>
  readonly resolveTarget: ResolveTarget
  readonly lifetimesOf: LifetimesOf
  readonly hasIdleCapacity: (request: EdgeRead) => boolean
  /** Milliseconds, monotonic. */
  readonly clock: () => number
  readonly onEvent: (event: CacheEvent) => void
  readonly snapshots: () => SnapshotSettings
  readonly rows: SnapshotRows
  readonly nodeReads: () => NodeReads
}

/** Until the rows are stored, some of their lifetime has passed. It must not end before that of the response. */
const SPARE_MS = 1000

/** Rejects with SnapshotRefusedError if there is no snapshot, and as `next` does. */
export function createBuilder(
  ports: SnapshotPorts,
  demands: SnapshotDemands,
  next: Handler<EdgeRead>,
): Handler<EdgeRead> {
  const { clock, onEvent, rows } = ports

  return async (request) => {
    const target = ports.resolveTarget(request)
    const source = snapshotSourceOf(request)
    if (typeof target === 'string' || source === undefined) throw new Error('the collection has no snapshots')
    // A stale snapshot that cannot be read again still answers queries, and each of them starts a refresh.
    demands.throwIfRefused(target.key)
    const started = clock()
    let calls = 0
    const counted: Handler<EdgeRead> = async (page) => {
      calls += 1
      const response = await next(page)
      // All rows of a joined collection are fetched at once, by many calls.
      if (response.kind === 'envelope' && response.origin.kind === 'allRows') calls += response.origin.fetchedParts - 1
      return response
    }
    const emit = (outcome: 'built' | 'failed' | SnapshotRefusal) => {
      rows.count(target.key, { calls })
      onEvent({ kind: 'snapshotBuild', group: target.policy.group, outcome, calls, ms: clock() - started })
    }
    try {
      const response = await build({ ports, demands, call: counted }, { request, target, source })
      emit('built')
      return response
    } catch (fault) {
      emit(fault instanceof SnapshotRefusedError ? fault.reason : 'failed')
      const needsAllRows = target.policy.isJoined && !ports.nodeReads().joinsAgents
      if (fault instanceof SnapshotRefusedError ? !isTemporary(fault) : isNodeFailure(fault) && !needsAllRows)
        demands.noteRefusal(target.key, fault)
      throw fault
    }
  }
}

interface BuildPorts {
  readonly ports: SnapshotPorts
  readonly demands: SnapshotDemands
  readonly call: Handler<EdgeRead>
}

async function build(
  { ports, demands, call }: BuildPorts,
  { request, target, source }: Pick<NewSnapshot, 'request' | 'target' | 'source'>,
): Promise<EdgeResponse> {
  const started = ports.clock()
  const { maxRows, maxBytes, localBytes } = ports.snapshots()
  const nodeReads = ports.nodeReads()
  const { rowsPerCall } = nodeReads
  const limits = { maxRows, maxBytes: Math.min(maxBytes, localBytes), rowsPerCall }
  const check = (total: number) => {
    demands.noteTotal(target.key, total)
    if (callsFor(total, nodeReads) === 1) return
    if (!demands.paysFor(target.key)) throw new SnapshotRefusedError('demand', 'it takes more calls than it saves')
    if (!ports.hasIdleCapacity(request)) throw new SnapshotRefusedError('busy', 'the nodes have no idle capacity')
  }
  const total = demands.totalOf(target.key)
  const { isJoined } = target.policy
  // Rows that each page needs are read whatever they cost.
  if (total !== undefined && (!isJoined || nodeReads.joinsAgents)) check(total)
  if (isJoined) {
    const { joined, ...collection } = await readJoined(call, request, limits)
    demands.noteTotal(target.key, collection.totalItems)
    const head = await add(ports, collection, {
      request,
      target,
      source,
      started,
      isShared: joined.completeness !== 'partial',
    })
    return toResponse(head, joined)
  }
  // A client waits at most for one call of its own. Others are work for later requests.
  const paged: EdgeRead =
    total !== undefined && callsFor(total, nodeReads) === 1 ? request : { ...request, priority: 'bulk' }
  const collection = await readCollection(call, paged, limits, check)
  // The total of such a collection is that of the page.
  const countsPage = source.engine === 'array' && source.offsetFirst === true
  if (countsPage && collection.totalItems >= rowsPerCall) {
    throw new SnapshotRefusedError('tooManyRows', 'its first page is full, and may not be all')
  }
  return toResponse(await add(ports, collection, { request, target, source, started, isShared: true }))
}

/** Stores the rows for as long as the response may be served. */
async function add(
  { store, clock, rows, lifetimesOf }: SnapshotPorts,
  collection: CollectionRows,
  { request, target, source, started, isShared }: NewSnapshot,
): Promise<SnapshotHead> {
  const { key, tags, policy } = target
  const lifetimes = lifetimesOf(policy.group, request.endpoint.path)
  const ms = lifetimes.ttl + staleBound(staleTimesOf(policy, lifetimes, clock() - started)) + SPARE_MS
  const present = await store.lookup(key, tags)
  const replaced = present.kind === 'hit' ? parseHead(present.response) : undefined
  const head = await rows.add(target, collection, source, { ms, replaced, isShared })
  if (head === undefined) throw new SnapshotRefusedError('notStored', 'its rows cannot be stored for all replicas')
  return head
}

interface NewSnapshot {
  readonly request: EdgeRead
  readonly target: CacheTarget
  readonly source: Source
  /** When its fetch began, by the clock. */
  readonly started: number
  /** Whether other replicas may read the rows. */
  readonly isShared: boolean
}

/** Whether the next query may build the snapshot. */
function isTemporary({ reason }: SnapshotRefusedError): boolean {
  return reason === 'demand' || reason === 'busy'
}
