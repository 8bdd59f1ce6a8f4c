/**
 * The stage behind the cache that answers queries of a collection from a snapshot of all its rows. A snapshot is a stored
 * response: it is read through the cache under a key of its own, with the tags of its queries, so that epochs, fences,
 * fetch locks, refreshes and purges hold for it as for any other. A computed response is stored like a joined one, with
 * the age and the rest of the lifetime of its only part.
 */
import type { CacheGroup } from '../../catalogue/endpoint.ts'
import type { EdgeRequest, Handler } from '../../core/request.ts'
import type { EdgeResponse, Lookup } from '../../core/response.ts'
import { CollectionError } from '../../query/request.ts'
import type { CacheTarget, ResolveTarget } from '../key.ts'
import type { LifetimesOf } from '../lifetimes.ts'
import type { CacheStore } from '../stores/contract.ts'
import { answerFrom, ParsedSnapshots } from './answer.ts'
import { buildSnapshot, ROWS_PER_CALL, type SnapshotLimits, SnapshotRefusedError, totalOf } from './build.ts'
import { SnapshotDemands } from './builds.ts'
import { type Derivation, derivationOf, selectsAllRows } from './derivation.ts'

/** Read for each request: the settings may change. */
export interface SnapshotSettings extends SnapshotLimits {
  /** The cache groups whose collections have snapshots. */
  readonly groups: readonly CacheGroup[]
}

export interface SnapshotPorts {
  readonly store: Pick<CacheStore, 'lookup'>
  readonly resolveTarget: ResolveTarget
  readonly lifetimesOf: LifetimesOf
  readonly hasIdleCapacity: (request: EdgeRequest) => boolean
  /** Milliseconds, monotonic. */
  readonly clock: () => number
  readonly snapshots: SnapshotSettings
}

/** One request that a snapshot may answer. */
interface Derivable {
  /** Without the demand on the age of stored responses, which only stored responses have. */
  readonly request: EdgeRequest
  readonly derivation: Derivation
  readonly snapshot: EdgeRequest
  readonly target: CacheTarget
}

/** Returns the snapshot that can answer a request, and its place in the cache; `undefined`: there is none. */
export function derivableOf(
  { snapshots, resolveTarget }: Pick<SnapshotPorts, 'snapshots' | 'resolveTarget'>,
  request: EdgeRequest,
): Derivable | undefined {
  const derivation = derivationOf(request, new Date())
  if (derivation === undefined) return undefined
  const snapshot: EdgeRequest = { ...request, query: {}, snapshot: true }
  const target = resolveTarget(snapshot)
  if (typeof target === 'string' || !snapshots.groups.includes(target.policy.group)) return undefined
  const { arrivedWithin, ...plain } = request
  return { request: plain, derivation, snapshot, target }
}

/** `next` calls the nodes; `read` is the handler around this stage, with the cache. */
export function answerFromSnapshots(ports: SnapshotPorts, next: Handler, read: Handler): Handler {
  const { store, lifetimesOf, hasIdleCapacity, clock, snapshots } = ports
  const parsed = new ParsedSnapshots()
  const demands = new SnapshotDemands(clock)
  const building = new Set<string>()

  return (request) => {
    if (request.snapshot) return buildSnapshot(next, request, snapshots)
    if (snapshots.groups.length === 0) return next(request)
    const derivable = request.directives?.noCache ? undefined : derivableOf(ports, request)
    return derivable === undefined ? next(request) : answer(derivable)
  }

  async function answer(derivable: Derivable): Promise<EdgeResponse> {
    const { request, target, snapshot } = derivable
    const lookup = await store.lookup(target.key, target.tags)
    if (lookup.kind === 'unavailable' || lookup.epochs.fenced) return next(request)
    if (!isServed(lookup, snapshot) && !mayWait(derivable, lookup)) return callNode(derivable)
    return (await derive(derivable)) ?? callNode(derivable)
  }

  /** Whether a client waits for the snapshot: only if it takes one call, as the request itself does. */
  function mayWait(
    { request, target, snapshot }: Derivable,
    lookup: Exclude<Lookup, { kind: 'unavailable' }>,
  ): boolean {
    const { key, policy } = target
    if (lookup.kind === 'hit') demands.noteTotal(key, totalOf(lookup.response.body) ?? 0)
    const { ttl } = lifetimesOf(policy.group, request.endpoint.path)
    const isLaterPage = Number(request.query.offset ?? 0) > 0
    if (!demands.note(key, JSON.stringify(request.query), isLaterPage, ttl)) return false
    const total = demands.totalOf(key)
    if (total !== undefined && total <= ROWS_PER_CALL) return true
    buildInBackground(snapshot, key)
    return false
  }

  /** Uses idle capacity of the nodes only. Not in the name of a caller, who has not asked for all rows. */
  function buildInBackground(snapshot: EdgeRequest, key: string): void {
    if (building.has(key) || snapshot.caller.credentials !== undefined || !hasIdleCapacity(snapshot)) return
    building.add(key)
    const { trace, cost, arrivedWithin, ...request } = snapshot
    void Promise.resolve(read({ ...request, priority: 'bulk', signal: new AbortController().signal }))
      .catch((fault: unknown) => {
        if (fault instanceof SnapshotRefusedError) demands.noteRefusal(key)
      })
      .finally(() => building.delete(key))
  }

  /** Returns the computed response; `undefined`: a node must answer. Rejects as `next` does. */
  async function derive({ snapshot, target, derivation }: Derivable): Promise<EdgeResponse | undefined> {
    const started = clock()
    try {
      const response = await read(snapshot)
      if (response.kind !== 'json' || response.cached === undefined) return undefined
      const { age, ttl } = response.cached.response
      const received = clock()
      const body = await answerFrom(await parsed.rowsOf(response.body, derivation.source), derivation)
      return {
        kind: 'json',
        status: 200,
        body,
        errorNumber: 0,
        isDerived: true,
        // The cache counts the time of this computation itself, of which the fetch of a new snapshot is a part.
        oldestPartAge: Math.max(0, age - (received - started)),
        partsFreshFor: ttl - age - (clock() - received),
      }
    } catch (fault) {
      // The node refuses the request in its own words.
      if (fault instanceof CollectionError) return undefined
      if (!(fault instanceof SnapshotRefusedError)) throw fault
      demands.noteRefusal(target.key)
      return undefined
    }
  }

  async function callNode({ request, target }: Derivable): Promise<EdgeResponse> {
    const response = await next(request)
    const total = response.kind === 'json' && selectsAllRows(request) ? totalOf(response.body) : undefined
    if (total !== undefined) demands.noteTotal(target.key, total)
    return response
  }
}

/** Whether the cache serves the stored snapshot without a call to the nodes. */
function isServed(lookup: Lookup, { arrivedWithin }: EdgeRequest): boolean {
  if (lookup.kind !== 'hit') return false
  const { age, ttl, staleWhileRevalidate, fetchTime } = lookup.response
  if (arrivedWithin !== undefined && age - fetchTime >= arrivedWithin) return false
  return age < ttl + staleWhileRevalidate
}
