/**
 * The part behind the cache that answers queries of a collection from a snapshot of all its rows. The head of a snapshot
 * is read through the cache under a key of its own, with the tags of its queries, so that epochs, fences, fetch locks,
 * refreshes and purges hold for it as for a response. A computed response is stored like a joined one, with
 * the age and the rest of the lifetime of its only part.
 */

import { collectionContracts } from '../../collections/contracts.ts'
import { hasListedValues, isDetermined } from '../../collections/determined.ts'
import { frameOf } from '../../collections/page-writer.ts'
import { answerFrom, answerInFrame, type QueriedRows } from '../../collections/queried-rows.ts'
import {
  CollectionError,
  type CollectionRequest,
  DEFAULT_LIMIT,
  MAX_LIMIT,
  type PageWindow,
} from '../../collections/request.ts'
import { compileProjection } from '../../collections/select.ts'
import { isDegraded, OUTAGE } from '../../core/cache.ts'
import { envelopeOf, isNodeFailure } from '../../core/envelope.ts'
import { arrivalLimitOf, createNoClient, type EdgeRead, type Handler, NO_COST } from '../../core/request.ts'
import {
  type EdgeResponse,
  type EnvelopeResponse,
  isCut,
  isPartial,
  type Lookup,
  type MadeOfParts,
  type ReadResponse,
  type SnapshotResponse,
} from '../../core/response.ts'
import { timeLimitOf, withTimeout } from '../../core/timing.ts'
import type { CacheTarget } from '../key.ts'
import { storageLifetime } from '../stores/local-entries.ts'
import { createBuilder, type SnapshotPorts } from './build.ts'
import { type Derivation, derivationOf, isWhole, needsAllRows, SnapshotDemands, selectsAllRows } from './builds.ts'
import { CoveringQueries, type CoveringResponse, ORDERS, snapshotOfCovering } from './covering.ts'
import { SnapshotRefusedError } from './read-collection.ts'
import { parseHead, type SnapshotHead } from './rows.ts'

export type Snapshots = ReturnType<typeof createSnapshots>

/** How a stored snapshot is served because nodes fail or Redis is unreachable. */
export interface StoredSource {
  /** No node answers either: rows that these leave in any order have that of the snapshot. */
  readonly isOnlySource?: boolean
  /** Redis is not asked for the rows. */
  readonly isLocal?: true
  /** Returns what is stored in this place of the cache; `undefined`: nothing that may be served. */
  serve(target: CacheTarget): ReadResponse | undefined | Promise<ReadResponse | undefined>
}

/** Returns the snapshot that can answer a request, and its place in the cache; `undefined`: there is none. */
export function derivableOf(
  ports: Pick<SnapshotPorts, 'snapshots' | 'resolveTarget' | 'nodeReads'>,
  request: EdgeRead,
) {
  if (ports.snapshots().groups.length === 0) return undefined
  const derivable = computableOf(ports, request)
  return derivable?.hasSnapshots ? derivable : undefined
}

/** As `derivableOf`, also for a collection that has no snapshots. */
function computableOf(
  { snapshots, resolveTarget, nodeReads }: Pick<SnapshotPorts, 'snapshots' | 'resolveTarget' | 'nodeReads'>,
  request: EdgeRead,
) {
  const derivation = derivationOf(request, new Date(), nodeReads())
  if (derivation === undefined) return undefined
  const own = resolveTarget(request)
  const snapshot: EdgeRead = { ...request, query: {}, extent: 'allRows' }
  const target = resolveTarget(snapshot)
  if (typeof own === 'string' || typeof target === 'string') return undefined
  const { snapshot: kind, group } = target.policy
  const hasSnapshots = kind !== undefined && snapshots().groups.includes(group)
  // Requests that differ only in spelling have the same key of their own.
  return { request, key: own.key, derivation, snapshot, target, hasSnapshots }
}

/** `next` calls the nodes; `read` is the handler with the cache. */
export function createSnapshots(ports: SnapshotPorts, next: Handler<EdgeRead>, read: Handler<EdgeRead, ReadResponse>) {
  const { store, lifetimesOf, hasIdleCapacity, resolveTarget, clock } = ports
  const demands = new SnapshotDemands(clock, ports.nodeReads)
  const build = createBuilder(ports, demands, next)
  const prepare = createComputations(ports, (key) => demands.noteAnswered(key))
  const building = new Map<string, Promise<boolean>>()
  const covering = new CoveringQueries(store.parts, clock)

  return {
    /** Answers requests that the cache cannot answer: calls the nodes, for all rows or for the request itself. */
    fetch: (request: EdgeRead) => (request.extent === 'allRows' ? build(request) : callNode(request)),
    /**
     * Finds the snapshot that can answer a request; `undefined`: nodes must. Rejects as a fetch that the request waits for.
     * `source`: no fetch is made, so only what it returns is used.
     */
    find: (request: EdgeRead, source?: StoredSource) => {
      const of = source === undefined ? derivableOf : computableOf
      const derivable = request.reuse === 'noCache' ? undefined : of(ports, request)
      return derivable === undefined ? undefined : find(derivable, source)
    },
  }

  async function find(derivable: Derivable, source?: StoredSource): Promise<Computation | undefined> {
    const { request, target, snapshot } = derivable
    const { key, policy } = target
    if (source !== undefined) {
      const stored = derivable.hasSnapshots ? await source.serve(target) : undefined
      const computation = stored?.kind === 'snapshot' ? await prepare(derivable, stored, source) : undefined
      return computation ?? findCovering(derivable, source)
    }
    const lookup = await store.lookup(key, target.tags)
    if (lookup.kind === 'unavailable' || lookup.epochs.fenced) return undefined
    const total = lookup.kind === 'hit' ? parseHead(lookup.response)?.totalItems : undefined
    if (total !== undefined) demands.noteTotal(key, total)
    const { ttl } = lifetimesOf(policy.group, policy.name)
    // Reads of the edge itself, such as those of the owners of all agents, demand nothing.
    if (arrivalLimitOf(request) === undefined) demands.note(key, derivable.key, windowOf(request), ttl)
    if (!isServed(lookup, derivable) && !(await mayRead(derivable))) return undefined
    const response = await readSnapshot(snapshot, policy)
    if (response !== undefined && isCut(response) && demands.isRepeatedlyCut(key)) void buildInBackground(snapshot, key)
    return response === undefined ? undefined : prepare(derivable, response)
  }

  /** While no node answers, a stored response that has all rows serves as a snapshot. */
  async function findCovering(derivable: Derivable, source: StoredSource): Promise<Computation | undefined> {
    const { request, target, derivation } = derivable
    const { defaultSort: sort } = derivation.source
    for (const order of ORDERS) {
      const query = await covering.find(target.key, order, source.isLocal)
      const place = query && resolveTarget({ ...request, query })
      const stored = typeof place === 'object' ? await source.serve(place) : undefined
      if (stored?.kind !== 'envelope' || stored.origin.kind !== 'stored') continue
      if (!source.isOnlySource && stored.origin.status.detail !== OUTAGE) continue
      // Rows in another order than that of the collection.
      const isOpen = order === 'sorted' && sort === undefined && derivation.collection.sort === undefined
      const snapshot = isOpen ? undefined : await snapshotOfCovering(ports, derivable, stored as CoveringResponse)
      if (snapshot === undefined) continue
      const sorted = order === 'sorted' && sort !== undefined ? { sort } : {}
      const collection: CollectionRequest = { ...sorted, ...derivation.collection }
      return prepare({ ...derivable, derivation: { ...derivation, collection } }, snapshot, {
        ...source,
        isLocal: true,
        isOnlySource: true,
      })
    }
    return undefined
  }

  /**
   * Whether a client waits for a new snapshot: if it takes as many calls as the request itself does, or if the pages that are
   * left of a walk would take more. Its other pages would be called while the snapshot is built.
   */
  async function mayRead({ target: { key, policy }, snapshot, request }: Derivable): Promise<boolean> {
    const { maxRows } = ports.snapshots()
    const total = demands.totalOf(key)
    // Each request for such a page has to collect all rows anyway.
    if (needsAllRows(policy, ports.nodeReads()) && selectsAllRows(request))
      return !demands.isRefused(key) && (total ?? 0) <= maxRows
    // Each part of a joined response would take a call more than the price of the read has for it.
    const isPart = request.deadline !== Number.POSITIVE_INFINITY
    if (isPart || !demands.isWanted(key)) return false
    if (demands.isOnePage(key)) return true
    const built = needsAllRows(policy, ports.nodeReads()) ? undefined : buildInBackground(snapshot, key)
    if (built === undefined || !demands.savesWalk(key)) return false
    return withTimeout(built, timeLimitOf(request, ports.limits()) / 2, false, request.client.signal)
  }

  /** Resolves to whether there is a snapshot; `undefined`: none is built now. */
  function buildInBackground(snapshot: EdgeRead, key: string): Promise<boolean> | undefined {
    const known = building.get(key)
    if (known !== undefined || !hasIdleCapacity(snapshot)) return known
    const { trace, ...request } = snapshot
    const complete = { ...request, reuse: 'allowed', effort: 'complete', priority: 'bulk', cost: NO_COST } as const
    const built = Promise.resolve(read({ ...complete, client: createNoClient() }))
      .then(
        () => true,
        () => false,
      )
      .finally(() => building.delete(key))
    building.set(key, built)
    return built
  }

  /** Resolves to undefined if there is no snapshot. */
  async function readSnapshot(
    snapshot: EdgeRead,
    policy: CacheTarget['policy'],
  ): Promise<SnapshotResponse | undefined> {
    try {
      const response = await read(snapshot)
      // Rows that are missing because nodes fail would be missing in the response of the request itself too.
      if (response.kind !== 'snapshot') return undefined
      return response.cached !== undefined || isPartial(response) ? response : undefined
    } catch (fault) {
      // A node that cannot return all rows may still return the page.
      if (fault instanceof SnapshotRefusedError || (isNodeFailure(fault) && !needsAllRows(policy, ports.nodeReads())))
        return undefined
      throw fault
    }
  }

  async function callNode(request: EdgeRead): Promise<EdgeResponse> {
    const response = await next(request)
    if (response.kind === 'file' || !selectsAllRows(request)) return response
    const derivable = computableOf(ports, request)
    if (derivable === undefined) return response
    const { snapshot, target, hasSnapshots, derivation } = derivable
    if (isCut(response)) {
      if (hasSnapshots && demands.isRepeatedlyCut(target.key)) void buildInBackground(snapshot, target.key)
      return response
    }
    const total = totalOf(response.body, request)
    if (total === undefined) return response
    if (hasSnapshots) demands.noteWhole(target.key, total)
    const { ttl, outage = 0 } = lifetimesOf(target.policy.group, target.policy.name)
    if (outage > 0 && isWhole(derivation, windowOf(request), total))
      covering.note(target.key, request.query, ttl + outage)
    return response
  }
}

/**
 * Returns the total in the text of a collection, near its beginning or its end; `undefined`: it is not there. It may be wrong
 * for a hostile body, whose rows no snapshot accepts; to find the rows of one would block the event loop.
 */
function totalOf(body: Buffer, { endpoint: { contract } }: EdgeRead): number | undefined {
  const name = `"${collectionContracts[contract].totalName}":`
  const ends = [
    body.toString('latin1', 0, MAX_END_BYTES),
    body.toString('latin1', Math.max(0, body.length - MAX_END_BYTES)),
  ]
  const [total] = ends.flatMap((text) => /^ ?(\d+)[,}]/.exec(text.split(name).at(-1) ?? '')?.[1] ?? [])
  return total === undefined ? undefined : Number(total)
}

/** What the v4 contract writes behind the total has about 150 bytes. */
const MAX_END_BYTES = 256

/**
 * Whether the cache serves the stored snapshot without a call to the nodes. A stale one would be refreshed, which takes a
 * call for each agent; a query with a filter needs fewer.
 */
function isServed(lookup: Lookup, { request, snapshot, target: { policy } }: Derivable): boolean {
  if (lookup.kind !== 'hit') return false
  const { age, response } = lookup
  const { ttl, staleWhileRevalidate, fetchTime } = response
  const arrivedWithin = arrivalLimitOf(snapshot)
  if (arrivedWithin !== undefined && age - fetchTime >= arrivedWithin) return false
  return age < (policy.isJoined && !selectsAllRows(request) ? ttl : ttl + staleWhileRevalidate)
}

/** Returns the page that a request asks for. The node refuses values that are no numbers. */
function windowOf({ query: { offset, limit } }: EdgeRead): PageWindow {
  return { offset: Number(offset) || 0, limit: Number(limit) || DEFAULT_LIMIT }
}

/** One request that a snapshot may answer. */
type Derivable = NonNullable<ReturnType<typeof computableOf>>

/** How one request is answered from the snapshot that was found. */
interface Computation {
  /** Whether it takes so long that the request counts as one that costs. */
  readonly isCostly: boolean
  /**
   * Computes the response. Resolves to undefined if a node must answer. `started`: when the request began, by the clock;
   * the cache counts the age of the response from then on.
   */
  run(started: number): Promise<EnvelopeResponse | undefined>
}

/** Values that are tested or sorted in about a millisecond. A client can send thousands of hits per second. */
const MAX_VALUES_OF_HIT = 5000
/**
 * Together they use all time that this process has for them. Nodes answer further requests, except for joined rows: to
 * join their page takes this process longer than to compute it.
 */
const MAX_COSTLY = 16

/**
 * Returns the function that prepares a computation; `undefined`: a node must answer. `onAnswered`: receives the key of each
 * stored snapshot that answers a query.
 */
function createComputations({ rows, clock, onEvent }: SnapshotPorts, onAnswered: (key: string) => void) {
  let costly = 0

  return async (
    { request, target, derivation }: Derivable,
    snapshot: SnapshotResponse,
    stored?: StoredSource,
  ): Promise<Computation | undefined> => {
    const received = clock()
    const { cached } = snapshot
    const { age = 0, response } = cached ?? {}
    const ttl = response?.ttl ?? 0
    const head = parseHead(snapshot)
    if (head === undefined) return undefined
    const left = (response === undefined ? 0 : storageLifetime(response)) - age
    const found = await (stored?.isLocal ? rows.held(target, head) : rows.find(target, head, derivation.source, left))
    if (found === undefined) return undefined
    // In an outage, ties have the order of the snapshot, and rows that only the master has are missing.
    const isOnlySource = stored?.isOnlySource === true || cached?.status.detail === OUTAGE
    const isCostly = found.table.valuesToRead(derivation.collection) > MAX_VALUES_OF_HIT

    const compute = async (started: number): Promise<EnvelopeResponse | undefined> => {
      const parts = partsOfRows(snapshot, head)
      const body = await bodyOf(found, derivation, head, { request, target, isOnlySource })
      // The edge owns the pages of joined collections, and refuses what they do not support.
      if (body instanceof CollectionError) return target.policy.isJoined ? refuse(body, parts) : undefined
      if (body === undefined) return undefined
      const response = { kind: 'envelope', status: 200, body, errorNumber: 0 } as const
      if (isPartial(snapshot)) return { ...response, origin: { ...parts, kind: 'joined', isUnfinished: false } }
      const { hit: isStored = false, detail } = cached?.status ?? {}
      if (isStored) {
        rows.count(target.key, { queries: 1 })
        onAnswered(target.key)
        onEvent({ kind: 'snapshotQuery', group: target.policy.group })
      }
      return {
        ...response,
        origin: {
          ...parts,
          kind: 'computed',
          from: isDegraded(detail) ? detail : isStored ? 'stored' : 'fetched',
          // The cache counts the time since the request began itself, of which the fetch of a new snapshot is a part.
          oldestPartAge: Math.max(0, age - (received - started)),
          partsFreshFor: ttl - age - (clock() - received),
        },
      }
    }

    const run = async (started: number): Promise<EnvelopeResponse | undefined> => {
      if (!isCostly || target.policy.isJoined || isOnlySource) return compute(started)
      if (costly >= MAX_COSTLY) return undefined
      costly += 1
      try {
        return await compute(started)
      } finally {
        costly -= 1
      }
    }
    return { isCostly, run }
  }
}

/** Returns the body of the response, or why the request is refused; `undefined`: only a node has the rows in their order. */
async function bodyOf(
  rows: QueriedRows,
  derivation: Derivation,
  { others, frame }: SnapshotHead,
  {
    request,
    target: { policy },
    isOnlySource,
  }: Pick<Derivable, 'request' | 'target'> & { readonly isOnlySource: boolean },
): Promise<Buffer | CollectionError | undefined> {
  try {
    if (others !== undefined && !selectsAllRows(request)) {
      // The manager refuses unknown fields of `select` before those of `sort`, for which counting fails.
      compileProjection(derivation.collection.select, derivation.source)
      // Rows of a filter that fit into one page are those of the master, which has rows that are gaps here.
      if (!isOnlySource && (await rows.table.page(derivation.collection)).totalItems <= MAX_LIMIT) return undefined
    }
    // The edge itself sorts joined rows.
    const isAnswered = isOnlySource ? hasListedValues : isDetermined
    if (!policy.isJoined && !(await isAnswered(rows.table, derivation.collection, derivation.source))) return undefined
    return await (frame ? answerInFrame(rows, derivation, frame) : answerFrom(rows, derivation, frameOf(others)))
  } catch (fault) {
    if (fault instanceof CollectionError) return fault
    throw fault
  }
}

function partsOfRows({ origin: parts }: SnapshotResponse, { others }: SnapshotHead): MadeOfParts {
  return others && parts.completeness === 'complete' ? { ...parts, completeness: 'knownGaps' } : parts
}

function refuse({ code, message }: CollectionError, parts: MadeOfParts): EnvelopeResponse {
  return envelopeOf({ error: code, message }, { ...parts, kind: 'joined', isUnfinished: false })
}
