/**
 * Builds snapshots: reads all rows of a collection, page after page, or at once if the edge joins them; stores them, and
 * returns the response that names them.
 */

import type { Source } from '../../collections/sources.ts'
import { isNodeFailure } from '../../core/error-meanings.ts'
import type { SnapshotRefusal } from '../../core/events.ts'
import type { NodeReads } from '../../core/node-call.ts'
import type { EdgeRead, Handler } from '../../core/request.ts'
import type { SnapshotResponse } from '../../core/response.ts'
import type { CacheTarget } from '../key.ts'
import { staleTimesOf } from '../lifetimes.ts'
import type { CachePorts } from '../read-context.ts'
import type { CacheStore } from '../stores/contract.ts'
import { storageLifetime } from '../stores/local-entries.ts'
import { needsAllRows, rowSourceOf } from './derivation.ts'
import { parseHead, type SnapshotHead, snapshotOf } from './head.ts'
import { readCollection, SnapshotRefusedError } from './read-collection.ts'
import type { CollectionRows, SnapshotRows } from './rows.ts'
import type { SnapshotDemands } from './snapshot-demands.ts'
import { countsPage } from './whole-pages.ts'

export interface SnapshotPorts
  extends Pick<
    CachePorts,
    'settings' | 'resolveTarget' | 'lifetimesOf' | 'limits' | 'hasIdleCapacity' | 'clock' | 'onEvent'
  > {
  readonly store: Pick<CacheStore, 'lookup' | 'parts'>
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
): Handler<EdgeRead, SnapshotResponse> {
  const { clock, onEvent, rows } = ports

  return async (request) => {
    const target = ports.resolveTarget(request)
    const source = rowSourceOf(request, ports.nodeReads())
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
    const needsAll = needsAllRows(target.policy, ports.nodeReads())
    const emit = (outcome: 'built' | 'failed' | SnapshotRefusal) => {
      rows.count(target.key, { calls, needsAllRows: needsAll })
      onEvent({ kind: 'snapshotBuild', group: target.policy.group, outcome, calls, ms: clock() - started })
    }
    try {
      const response = await build(ports, demands, counted, { request, target, source, started })
      emit('built')
      if (!needsAll) demands.noteBuild(target.key, calls)
      return response
    } catch (fault) {
      emit(fault instanceof SnapshotRefusedError ? fault.reason : 'failed')
      if (fault instanceof SnapshotRefusedError ? !isTemporary(fault) : isNodeFailure(fault) && !needsAll)
        demands.noteRefusal(target.key, fault)
      throw fault
    }
  }
}

interface NewSnapshot {
  readonly request: EdgeRead
  readonly target: CacheTarget
  readonly source: Source
  /** When its fetch began, by the clock. */
  readonly started: number
}

async function build(
  ports: SnapshotPorts,
  demands: SnapshotDemands,
  call: Handler<EdgeRead>,
  snapshot: NewSnapshot,
): Promise<SnapshotResponse> {
  const { request, target, source } = snapshot
  const { maxRows, maxBytes, localBytes } = ports.settings().snapshots
  const nodeReads = ports.nodeReads()
  const { rowsPerCall } = nodeReads
  const limits = { maxRows, maxBytes: Math.min(maxBytes, localBytes), rowsPerCall }
  const check = (total: number) => {
    demands.noteTotal(target.key, total)
    if (demands.callsOf(target.key) === 1) return
    if (!demands.paysFor(target.key)) throw new SnapshotRefusedError('demand', 'it takes more calls than it saves')
    if (!ports.hasIdleCapacity(request)) throw new SnapshotRefusedError('busy', 'the nodes have no idle capacity')
  }
  const total = demands.totalOf(target.key)
  // A client waits at most for one of its calls. Others are work for later requests.
  const priority = total !== undefined && demands.callsOf(target.key) === 1 ? request.priority : 'bulk'
  const { isJoined } = target.policy
  // Rows that each page needs are read whatever they cost.
  if (total !== undefined && (!isJoined || nodeReads.joinsAgents)) check(total)
  const { madeOf, ...collection } = isJoined
    ? await readCollection(call, request, { ...limits, rowsPerCall: maxRows })
    : await readCollection(call, { ...request, priority, extent: 'whole', reuse: 'noStore' }, limits, check)
  demands.noteTotal(target.key, collection.totalItems)
  // The total of such a collection is that of the page.
  if (countsPage(source) && collection.totalItems >= rowsPerCall) {
    throw new SnapshotRefusedError('tooManyRows', 'its first page is full, and may not be all')
  }
  return snapshotOf(await add(ports, collection, snapshot, !['partial', 'cut'].includes(madeOf.completeness)), madeOf)
}

/** Stores the rows for as long as the response may be served. `isShared`: whether other replicas may read them. */
async function add(
  { store, clock, rows, lifetimesOf }: SnapshotPorts,
  collection: CollectionRows & Pick<SnapshotHead, 'others' | 'frame'>,
  { target, source, started }: NewSnapshot,
  isShared: boolean,
): Promise<SnapshotHead> {
  const { key, tags, policy } = target
  const lifetimes = lifetimesOf(policy.group, policy.name)
  const { ttl } = lifetimes
  const ms = storageLifetime({ ttl, ...staleTimesOf(policy, lifetimes, clock() - started) }) + SPARE_MS
  const present = await store.lookup(key, tags)
  const replaced = present.kind === 'hit' ? parseHead(present.response) : undefined
  const head = await rows.add(target, collection, source, { ms, replaced, isShared })
  if (head !== undefined) return head
  const isLost = (await store.lookup(key, tags)).kind === 'unavailable'
  throw new SnapshotRefusedError(isLost ? 'redisLost' : 'notStored', 'its rows cannot be stored for all replicas')
}

/** Whether the next query may build the snapshot. Without Redis, none does until it is back. */
function isTemporary({ reason }: SnapshotRefusedError): boolean {
  return reason === 'demand' || reason === 'busy' || reason === 'redisLost'
}
