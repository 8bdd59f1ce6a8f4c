/**
 * The part behind the cache that answers queries of a collection from a snapshot of all its rows. A snapshot is a stored
 * response: it is read through the cache under a key of its own, with the tags of its queries, so that epochs, fences,
 * fetch locks, refreshes and purges hold for it as for any other. A computed response is stored like a joined one, with
 * the age and the rest of the lifetime of its only part.
 */
import { isNodeFailure } from '../../core/envelope.ts'
import { arrivalLimitOf, type EdgeRead, type Handler, NO_COST } from '../../core/request.ts'
import { cachedOf, type EdgeResponse, type EnvelopeResponse, isPartial, type Lookup } from '../../core/response.ts'
import type { CacheTarget } from '../key.ts'
import { callsFor, SnapshotRefusedError } from './build.ts'
import { createBuilder, type SnapshotPorts } from './builder.ts'
import { derivationOf, SnapshotDemands, selectsAllRows } from './builds.ts'
import { type Computation, createComputations, type Derivable } from './compute.ts'

export interface Snapshots {
  /** Answers requests that the cache cannot answer: calls the nodes, for all rows or for the request itself. */
  readonly fetch: Handler<EdgeRead>
  /**
   * Finds the snapshot that can answer a request. Undefined: nodes must answer. Rejects as the fetch of a snapshot does,
   * if the request waits for it.
   */
  find(request: EdgeRead): Promise<Computation | undefined> | undefined
}

/** Returns the snapshot that can answer a request, and its place in the cache; `undefined`: there is none. */
export function derivableOf(
  { snapshots, resolveTarget }: Pick<SnapshotPorts, 'snapshots' | 'resolveTarget'>,
  request: EdgeRead,
): Derivable | undefined {
  const { groups } = snapshots()
  if (groups.length === 0) return undefined
  const derivation = derivationOf(request, new Date())
  if (derivation === undefined) return undefined
  const own = resolveTarget(request)
  const snapshot: EdgeRead = { ...request, query: {}, extent: 'allRows' }
  const target = resolveTarget(snapshot)
  if (typeof own === 'string' || typeof target === 'string' || !groups.includes(target.policy.group)) return undefined
  return { request, key: own.key, derivation, snapshot, target }
}

/** `next` calls the nodes; `read` is the handler with the cache. */
export function createSnapshots(ports: SnapshotPorts, next: Handler<EdgeRead>, read: Handler<EdgeRead>): Snapshots {
  const { store, lifetimesOf, hasIdleCapacity, clock } = ports
  const demands = new SnapshotDemands(clock, ports.nodeReads)
  const build = createBuilder(ports, demands, next)
  const prepare = createComputations(ports)
  const building = new Set<string>()

  return {
    fetch: (request) => (request.extent === 'allRows' ? build(request) : callNode(request)),
    find: (request) => {
      const derivable = request.reuse === 'noCache' ? undefined : derivableOf(ports, request)
      return derivable === undefined ? undefined : find(derivable)
    },
  }

  async function find(derivable: Derivable): Promise<Computation | undefined> {
    const { request, target, snapshot } = derivable
    const { key, policy } = target
    const lookup = await store.lookup(key, target.tags)
    if (lookup.kind === 'unavailable' || lookup.epochs.fenced) return undefined
    const total = lookup.kind === 'hit' ? totalOf(lookup.response.body) : undefined
    if (total !== undefined) demands.noteTotal(key, total)
    const { ttl } = lifetimesOf(policy.group, request.endpoint.path)
    demands.note(key, derivable.key, Number(request.query.offset ?? 0) > 0, ttl)
    if (!isServed(lookup, derivable) && !mayWait(derivable)) return undefined
    const response = await readSnapshot(snapshot, policy)
    return response === undefined ? undefined : prepare(derivable, response)
  }

  /** Whether a client waits for a new snapshot: only if it takes as many calls as the request itself does. */
  function mayWait({ target: { key, policy }, snapshot, request }: Derivable): boolean {
    const { maxRows } = ports.snapshots()
    const total = demands.totalOf(key)
    // Each request for such a page has to collect all rows anyway.
    if (needsAllRows(ports, policy) && selectsAllRows(request))
      return !demands.isRefused(key) && (total ?? 0) <= maxRows
    if (!demands.isWanted(key)) return false
    if (total !== undefined && callsFor(total, ports.nodeReads()) === 1) return true
    if (!needsAllRows(ports, policy)) buildInBackground(snapshot, key)
    return false
  }

  /** Not in the name of a caller, who has not asked for all rows. */
  function buildInBackground(snapshot: EdgeRead, key: string): void {
    if (building.has(key) || snapshot.caller.credentials !== undefined || !hasIdleCapacity(snapshot)) return
    building.add(key)
    const { trace, ...request } = snapshot
    void Promise.resolve(read({ ...request, reuse: 'allowed', cost: NO_COST, client: new AbortController() }))
      .catch(() => {})
      .finally(() => building.delete(key))
  }

  /** Resolves to undefined if there is no snapshot. */
  async function readSnapshot(
    snapshot: EdgeRead,
    policy: CacheTarget['policy'],
  ): Promise<EnvelopeResponse | undefined> {
    try {
      const response = await read(snapshot)
      // Rows that are missing because nodes fail would be missing in the response of the request itself too.
      if (response.kind === 'file') return undefined
      return cachedOf(response) !== undefined || isPartial(response) ? response : undefined
    } catch (fault) {
      // A node that cannot return all rows may still return the page.
      if (fault instanceof SnapshotRefusedError || (isNodeFailure(fault) && !needsAllRows(ports, policy)))
        return undefined
      throw fault
    }
  }

  async function callNode(request: EdgeRead): Promise<EdgeResponse> {
    const response = await next(request)
    const total = response.kind === 'envelope' && selectsAllRows(request) ? totalOf(response.body) : undefined
    const target = total === undefined ? undefined : derivableOf(ports, request)?.target
    if (total !== undefined && target !== undefined) demands.noteTotal(target.key, total)
    return response
  }
}

/**
 * Returns the total in the text of a collection, near its beginning or its end; `undefined`: it is not there. It may be wrong
 * for a hostile body, whose rows no snapshot accepts; to find the rows of one would block the event loop.
 */
function totalOf(body: Buffer): number | undefined {
  const ends = [body.toString('latin1', 0, 64), body.toString('latin1', Math.max(0, body.length - 64))]
  const [total] = ends.flatMap((text) => /"totalItems": ?(\d+)[,}]/.exec(text)?.[1] ?? [])
  return total === undefined ? undefined : Number(total)
}

/** Whether a page can be cut only from all rows, so that it takes as many calls as the snapshot. */
function needsAllRows({ nodeReads }: Pick<SnapshotPorts, 'nodeReads'>, { isJoined }: CacheTarget['policy']): boolean {
  return isJoined && !nodeReads().joinsAgents
}

/**
 * Whether the cache serves the stored snapshot without a call to the nodes. A stale one would be refreshed, which takes a
 * call for each agent; a query with a filter needs fewer.
 */
function isServed(lookup: Lookup, { request, snapshot, target: { policy } }: Derivable): boolean {
  if (lookup.kind !== 'hit') return false
  const { age, ttl, staleWhileRevalidate, fetchTime } = lookup.response
  const arrivedWithin = arrivalLimitOf(snapshot)
  if (arrivedWithin !== undefined && age - fetchTime >= arrivedWithin) return false
  return age < (policy.isJoined && !selectsAllRows(request) ? ttl : ttl + staleWhileRevalidate)
}
