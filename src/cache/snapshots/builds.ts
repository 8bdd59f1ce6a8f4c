/**
 * Decides which requests the edge can answer from all rows of their collection, and when a snapshot is built: after two
 * different queries of one collection, or for a page behind the first one. A snapshot may take at most as many calls as
 * queries come in its lifetime, or as pages are left of a walk through the collection. Builds pause if the latest snapshots
 * have answered fewer queries than they took calls.
 */
import type { Collection } from '../../catalogue/endpoint.ts'
import { RecentlyUsed } from '../../core/recently-used.ts'
import { type EdgeRead, nodeOf } from '../../core/request.ts'
import { collectionContracts } from '../../query/contracts.ts'
import { convertedSource, isComputableOfConverted } from '../../query/in-front-of-v4.ts'
import type { CollectionRequest, PageWindow } from '../../query/request.ts'
import type { Source } from '../../query/sources.ts'
import type { CacheTarget } from '../key.ts'
import { compilePolicy } from '../policy.ts'

/** What the nodes' API allows, which depends on its layout. */
export interface NodeReads {
  readonly rowsPerCall: number
  /** Whether nodes join the rows of all agents. Otherwise the edge joins them, and each page takes all rows. */
  readonly joinsAgents: boolean
  /** Whether the edge converts rows of the nodes for clients of the v3 contract. */
  readonly convertsRows: boolean
}

export const V3_READS: NodeReads = { rowsPerCall: 1000, joinsAgents: false, convertsRows: false }

function callsFor(total: number, { rowsPerCall }: NodeReads): number {
  return Math.max(1, Math.ceil(total / rowsPerCall))
}

/** Whether a page can be cut only from all rows, so that it takes as many calls as the snapshot. */
export function needsAllRows({ isJoined }: CacheTarget['policy'], { joinsAgents }: NodeReads): boolean {
  return isJoined && !joinsAgents
}

interface KnownCollection {
  /** The first query of this window, and when the window ends; the clock in milliseconds. */
  query: string
  windowEnd: number
  isWanted: boolean
  /** Queries in this window and in the one before, which a snapshot has answered or could have answered. */
  queries: number
  queriesBefore: number
  /** The most pages that were left of a walk in this window. */
  pagesLeft: number
  total: number | undefined
  /** The latest build: the calls that it took, and the queries that were answered from it. */
  calls: number
  answered: number
  /** Builds in a row that took more calls than they answered queries. */
  unpaidBuilds: number
  unpaidUntil: number
  refusedUntil: number
  /** Whether a response has covered some agents only. */
  wasCut: boolean
  /** Why it could not be read. */
  refusal: unknown
}

/** Collections that are remembered, in each of two generations. */
const MAX_COLLECTIONS = 2500
/** A collection that cannot be read completely is not tried again before. */
const REFUSAL_MS = 30_000
/** A snapshot of several calls that has answered fewer queries than it took calls so often is not built again for a while. */
const MAX_UNPAID_BUILDS = 2
const UNPAID_MS = 600_000

export class SnapshotDemands {
  readonly #clock: () => number
  readonly #nodeReads: () => NodeReads
  readonly #collections = new RecentlyUsed<KnownCollection>(MAX_COLLECTIONS)

  constructor(clock: () => number, nodeReads: () => NodeReads) {
    this.#clock = clock
    this.#nodeReads = nodeReads
  }

  /** Counts a query that a snapshot can answer. `query`: its own key. `window`: milliseconds that a snapshot is fresh. */
  note(key: string, query: string, { offset, limit }: PageWindow, window: number): void {
    const now = this.#clock()
    const known = this.#collectionOf(key)
    if (now >= known.windowEnd) {
      known.queriesBefore = now < known.windowEnd + window ? known.queries : 0
      Object.assign(known, { query, windowEnd: now + window, isWanted: false, queries: 0, pagesLeft: 0 })
    }
    known.queries += 1
    if (offset > 0 || query !== known.query) known.isWanted = true
    if (offset > 0) known.pagesLeft = Math.max(known.pagesLeft, Math.ceil(((known.total ?? 0) - offset) / limit))
  }

  /** Whether the queries that were counted want a snapshot. */
  isWanted(key: string): boolean {
    return this.#collections.get(key)?.isWanted === true && !this.isRefused(key) && this.paysFor(key)
  }

  /** Whether the collection could not be read completely a short time ago. */
  isRefused(key: string): boolean {
    return this.#clock() < (this.#collections.get(key)?.refusedUntil ?? 0)
  }

  /**
   * Whether as many queries come in the lifetime of a snapshot as it takes calls, or pages are left of a walk, and the latest ones
   * have paid.
   */
  paysFor(key: string): boolean {
    const { queries = 0, queriesBefore = 0, unpaidUntil = 0, wasCut = false } = this.#collections.get(key) ?? {}
    const calls = this.callsOf(key)
    // Without a snapshot, no response is complete.
    if (wasCut || calls === 1) return true
    const isEnough = this.savesWalk(key) || calls <= Math.max(queries, queriesBefore)
    return isEnough && this.#clock() >= unpaidUntil
  }

  /** Whether the pages that are left of a walk take more calls than the snapshot. */
  savesWalk(key: string): boolean {
    return (this.#collections.get(key)?.pagesLeft ?? 0) > this.callsOf(key)
  }

  /** The calls that a snapshot takes: those that its rows need, or more if the latest one took more. */
  callsOf(key: string): number {
    const { total = 0, calls = 0 } = this.#collections.get(key) ?? {}
    return Math.max(callsFor(total, this.#nodeReads()), calls)
  }

  /** Whether all rows take no more calls than one page. Those of some agents only take the price of a read, and are of no use. */
  isOnePage(key: string): boolean {
    const { total, wasCut = false } = this.#collections.get(key) ?? {}
    return total !== undefined && !wasCut && this.callsOf(key) === 1
  }

  /** Counts a query that was answered from the stored snapshot. */
  noteAnswered(key: string): void {
    const known = this.#collectionOf(key)
    known.answered += 1
    if (known.answered >= known.calls) Object.assign(known, { unpaidBuilds: 0, unpaidUntil: 0 })
  }

  /** Compares what the snapshot before this one took with what it answered. */
  noteBuild(key: string, calls: number): void {
    const known = this.#collectionOf(key)
    const { calls: before, answered } = known
    known.unpaidBuilds = before > 1 && answered < before ? known.unpaidBuilds + 1 : 0
    if (known.unpaidBuilds >= MAX_UNPAID_BUILDS) known.unpaidUntil = this.#clock() + UNPAID_MS
    Object.assign(known, { calls, answered: 0 })
  }

  /** The number of rows, if a response has shown it. */
  totalOf(key: string): number | undefined {
    return this.#collections.get(key)?.total
  }

  noteTotal(key: string, total: number): void {
    this.#collectionOf(key).total = total
  }

  /** Notes a response that covers some agents only. Returns whether one was noted before, so that a complete one is wanted. */
  isRepeatedlyCut(key: string): boolean {
    const known = this.#collectionOf(key)
    const { wasCut } = known
    known.wasCut = true
    return wasCut && !this.isRefused(key)
  }

  /** Notes a response of the nodes that covers all agents. */
  noteWhole(key: string, total: number): void {
    this.#collectionOf(key).wasCut = false
    this.noteTotal(key, total)
  }

  noteRefusal(key: string, refusal: unknown): void {
    Object.assign(this.#collectionOf(key), { refusal, refusedUntil: this.#clock() + REFUSAL_MS })
  }

  /** Throws the error of the last attempt if the collection could not be read completely a short time ago. */
  throwIfRefused(key: string): void {
    if (this.isRefused(key)) throw this.#collections.get(key)?.refusal
  }

  #collectionOf(key: string): KnownCollection {
    const known = this.#collections.get(key)
    if (known !== undefined) return known
    const created: KnownCollection = {
      query: '',
      windowEnd: 0,
      isWanted: false,
      queries: 0,
      queriesBefore: 0,
      pagesLeft: 0,
      total: undefined,
      calls: 0,
      answered: 0,
      unpaidBuilds: 0,
      unpaidUntil: 0,
      refusedUntil: 0,
      wasCut: false,
      refusal: undefined,
    }
    this.#collections.set(key, created)
    return created
  }
}

export interface Derivation {
  readonly source: Source
  readonly collection: CollectionRequest
}

/** Parameters that leave the total of a collection as it is. */
const WITHOUT_FILTER: readonly string[] = ['offset', 'limit', 'sort', 'select']

/** The rows of all agents name their agent, and those of a node itself the node. */
const NAMED_IN_JOINED_ROWS = ['node_name', 'agent_id']

/** Returns the source of the rows of a collection; `undefined`: the edge computes none of them. */
export function rowSourceOf(request: EdgeRead, reads: NodeReads): Source | undefined {
  if (nodeOf(request) !== undefined || request.waitForComplete) return undefined
  const policy = compilePolicy(request.endpoint)
  if (typeof policy === 'string' || policy.rows === undefined) return undefined
  const source = collectionContracts[request.endpoint.contract].sourceOf(policy.rows)
  if (policy.isJoined) return { ...source, alwaysSelected: NAMED_IN_JOINED_ROWS } as Source
  const converted = conversionOf(request, reads)
  return converted === undefined ? source : convertedSource(source, ...converted)
}

/** Returns the rows that the edge converts from those of a node; `undefined`: it does not convert them. */
function conversionOf({ endpoint }: EdgeRead, { convertsRows }: NodeReads) {
  const policy = compilePolicy(endpoint)
  const isConverted = convertsRows && endpoint.translation !== undefined && typeof policy !== 'string'
  return isConverted ? ([policy.rows as Collection, endpoint.translation] as const) : undefined
}

/** Returns how to compute the response of a request; `undefined`: only a node can answer it. */
export function derivationOf(request: EdgeRead, now: Date, reads: NodeReads): Derivation | undefined {
  const source = rowSourceOf(request, reads)
  if (source === undefined || request.extent === 'allRows' || dependsOnRelease(request)) return undefined
  const { defaultSort } = source
  // Joined rows have the order of their nodes and agents, which is that of rows with equal sort fields.
  const joined = isJoined(request)
  const sort = joined && defaultSort !== undefined ? { sort: defaultSort } : undefined
  const { parse, isComputable } = collectionContracts[request.endpoint.contract]
  const collection = parse({ ...sort, ...request.query }, now)
  if (collection === undefined) return undefined
  // Nodes filter joined rows, and the edge sorts and selects them.
  const { sort: _, select: __, ...filtered } = collection
  if (!isComputable(joined ? filtered : collection, source)) return undefined
  const converted = conversionOf(request, reads)
  if (converted === undefined) return { source, collection }
  const { sort: ___, select: ____, ...asked } = request.query
  return isComputableOfConverted(joined ? asked : request.query, ...converted) ? { source, collection } : undefined
}

/** Nodes refuse a parameter that their release lacks, and the release may be unknown. */
function dependsOnRelease({ endpoint, query }: EdgeRead): boolean {
  return Object.keys(query).some((name) => endpoint.query[name]?.value?.releases !== undefined)
}

function isJoined({ endpoint }: EdgeRead): boolean {
  const policy = compilePolicy(endpoint)
  return typeof policy !== 'string' && policy.isJoined
}

/** Whether a query selects all rows, so that the total of its response is that of the collection. */
export function selectsAllRows({ query }: EdgeRead): boolean {
  return Object.keys(query).every((name) => WITHOUT_FILTER.includes(name))
}

/** Whether the total of a response counts its page only, so that a full page may lack rows. */
export function countsPage(source: Source): boolean {
  return source.engine === 'array' && source.offsetFirst === true
}

/** Whether a page has all rows of its collection. `total`: what the response says. */
export function isWhole(
  { source, collection: { select } }: Derivation,
  { offset, limit }: PageWindow,
  total: number,
): boolean {
  return offset === 0 && select === undefined && (countsPage(source) ? total < limit : total <= limit)
}
