import type { Readable } from 'node:stream'
import type { Tag } from '../catalogue/endpoint.ts'
import type { StoredForms } from './stored-forms.ts'

export type EdgeResponse = FileResponse | EnvelopeResponse

/** A file, which is streamed. */
export interface FileResponse {
  readonly kind: 'file'
  readonly status: number
  readonly type: string
  readonly length?: number
  readonly stream: Readable
}

/** A checked envelope `{error, data}` or `{error, message}`. */
export interface EnvelopeResponse<From extends Origin = Origin> {
  readonly kind: 'envelope'
  readonly status: number
  readonly body: Buffer
  /** The error number of the body; 0: success. */
  readonly errorNumber: number
  readonly origin: From
}

/** Where a response comes from. */
export type Origin = EdgeOrigin | StorableOrigin | AllRowsOrigin | CachedResponse | TrialOrigin

/** The origins of responses that may be stored. */
export type StorableOrigin = NodeOrigin | JoinedOrigin | SnapshotOrigin | ComputedOrigin

/** The edge itself. */
export interface EdgeOrigin {
  readonly kind: 'edge'
  readonly headers: Readonly<Record<string, string>>
  /** What the request asked for is not done yet. */
  readonly isUnfinished: boolean
}

export interface NodeOrigin {
  readonly kind: 'node'
  /** The response is for one caller only. */
  readonly isPersonal: boolean
  /** The rows of the last list `items` in `data`, so that a join need not search for them; `undefined`: not known. */
  readonly rows: RowRanges | undefined
}

/** What the parts say about the response that was made of them. */
export interface MadeOfParts {
  /** The value of `Cluster-Status`, with one member for each node that was called; empty: the edge joined nothing. */
  readonly clusterStatus: string
  /**
   * `partial`: parts of some nodes are missing or stale, so it must not be stored. `knownGaps`: it lacks rows that no node
   * can return; it names them, and may be stored.
   */
  readonly completeness: 'complete' | 'knownGaps' | 'partial'
  /** The age of its oldest stored part, in milliseconds. */
  readonly oldestPartAge: number
  /** How long all stored parts are still fresh, in milliseconds; not positive if one is stale, Infinity without any. */
  readonly partsFreshFor: number
}

/** The responses of several nodes, joined. */
export interface JoinedOrigin extends MadeOfParts {
  readonly kind: 'joined'
  /** Of a write: some of the nodes may have acted, or may not have finished. */
  readonly isUnfinished: boolean
}

/** All rows of a joined collection, which are not in the body. */
export interface AllRowsOrigin extends MadeOfParts {
  readonly kind: 'allRows'
  /** The rows, in parts as of rows/parts.ts. */
  readonly rowParts: readonly Buffer[]
  /** The number of calls to nodes that returned rows. */
  readonly fetchedParts: number
}

/** A snapshot of a collection, whose rows are stored apart. */
export interface SnapshotOrigin extends MadeOfParts {
  readonly kind: 'snapshot'
  /** The bytes of the rows. */
  readonly rowBytes: number
}

/** Computed from a snapshot of the collection. */
export interface ComputedOrigin extends MadeOfParts {
  readonly kind: 'computed'
  /** From a stored one without a call, from one that was fetched for it, or from an expired one because nodes fail. */
  readonly from: 'stored' | 'fetched' | StaleIfError
}

/** A response that may be stored: clients may store and revalidate it too. */
export type CachedResponse = StoredOrigin | FetchedOrigin

/** It was stored. */
export interface StoredOrigin {
  readonly kind: 'stored'
  readonly response: StoredResponse
  readonly status: CacheStatus
  /**
   * Of a fresh hit that callers of an endpoint share: returns the response to an equal request later, with its age then;
   * `undefined`: it is no fresh hit of the local tier any more. It never calls a node or Redis.
   */
  readonly repeat?: () => EnvelopeResponse<StoredOrigin> | undefined
}

/** It was fetched, and is stored unless it is stale already. */
export interface FetchedOrigin {
  readonly kind: 'fetched'
  readonly response: StoredResponse
  readonly status: CacheStatus
  readonly from: Origin
}

/** A read-only trial, in which clients must not store responses. */
export interface TrialOrigin {
  readonly kind: 'trial'
  readonly status: CacheStatus
  readonly of: Origin
}

export const OF_EDGE: EdgeOrigin = { kind: 'edge', headers: {}, isUnfinished: false }
export const OF_NODE: NodeOrigin = { kind: 'node', isPersonal: false, rows: undefined }
/** A response that is its only part. */
export const NO_PARTS: MadeOfParts = {
  clusterStatus: '',
  completeness: 'complete',
  oldestPartAge: 0,
  partsFreshFor: Number.POSITIVE_INFINITY,
}

/** Returns how the cache handled a response; `undefined`: it may not be stored. */
export function cachedOf({ origin }: EnvelopeResponse): CachedResponse | undefined {
  return origin.kind === 'stored' || origin.kind === 'fetched' ? origin : undefined
}

/** Returns the parts that a response was made of. */
export function partsOf(origin: Origin): MadeOfParts {
  switch (origin.kind) {
    case 'edge':
    case 'node':
      return NO_PARTS
    case 'stored':
      return { ...NO_PARTS, clusterStatus: origin.response.clusterStatus ?? '' }
    case 'fetched':
      return partsOf(origin.from)
    case 'trial':
      return partsOf(origin.of)
    default:
      return origin
  }
}

export function isPartial({ origin }: EnvelopeResponse): boolean {
  return partsOf(origin).completeness === 'partial'
}

/** Returns the response of a node within a response; `undefined`: it was stored or joined. */
export function nodeOriginOf(origin: Origin): NodeOrigin | undefined {
  if (origin.kind === 'fetched') return nodeOriginOf(origin.from)
  if (origin.kind === 'trial') return nodeOriginOf(origin.of)
  return origin.kind === 'node' ? origin : undefined
}

/** Where the rows of a collection are in its body, found when the body was checked. */
export interface RowRanges {
  /** Behind the opening bracket of the list, and in front of the closing one. */
  readonly from: number
  readonly to: number
  /** Start and end of each row. */
  readonly ranges: Uint32Array
  /** The value of `totalItems`; `undefined`: `data` has none. */
  readonly total: number | undefined
}

/** The detail of a stale response that is served because nodes fail, with the code of their error (a token, RFC 9651). */
export type StaleIfError = `stale-if-error/${number}`

export function isStaleIfError(detail: string | undefined): detail is StaleIfError {
  return detail?.startsWith('stale-if-error/') === true
}

/** Why a response is not from the cache: the words of RFC 9211 section 2.2, and what they mean. */
export const forwardReasons = {
  'uri-miss': { outcome: 'miss', text: 'No response was stored.' },
  stale: { outcome: 'miss', text: 'The stored response had expired.' },
  request: { outcome: 'bypass', text: 'The client asked for a new response with Cache-Control.' },
  bypass: { outcome: 'bypass', text: 'The cache was not used.' },
} as const

/** How the cache handled a request, in the words of RFC 9211 section 2. `ttl` in milliseconds; negative if stale. */
export interface CacheStatus {
  readonly hit?: true
  readonly fwd?: keyof typeof forwardReasons
  readonly stored?: true
  readonly collapsed?: true
  readonly ttl?: number
  readonly detail?: string
}

/**
 * The version counters of some tags at one moment. If they are equal at two moments, no write to the data happened in
 * between: a response whose fetch started at the first moment may be served at the second.
 */
export interface TagEpochs {
  /** Changes when the store has lost its data: after a flush, or a fail-over to another primary. */
  readonly generation: string
  /** One for each tag, in the order of the lookup. */
  readonly epochs: readonly string[]
  /** A write to one of the tags is in progress, or its outcome is unknown. */
  readonly fenced: boolean
}

/** A response as it is stored, with its freshness. All times in milliseconds. */
export interface StoredResponse {
  readonly status: number
  /** The body without content coding. */
  readonly body: Buffer
  /** Strong entity tag of the body, with its quotes (RFC 9110 section 8.8.3). */
  readonly etag: string
  /** What clients get of it, shared by all lookups of one copy. */
  readonly forms: StoredForms
  /** Time since its fetch started, by a monotonic clock. */
  readonly age: number
  /**
   * Freshness lifetime, counted as `age` is (the fetch time, then the TTL of the settings), and how long after it the
   * response may be served (RFC 5861).
   */
  readonly ttl: number
  readonly staleWhileRevalidate: number
  readonly staleIfError: number
  /** How long after its freshness lifetime it may be served during a refresh while it is hot. Absent: not longer. */
  readonly staleWhileHot?: number
  /** Time that its fetch took. */
  readonly fetchTime: number
  /** Of a joined response: the value of `Cluster-Status` when it was joined. */
  readonly clusterStatus?: string
  /** Of a snapshot: the bytes of its rows, which are stored apart. Lookups leave it out. */
  readonly rowBytes?: number
}

/**
 * The result of a lookup. `isLocal`: from the local tier, without a round trip. `changed`: a response is stored, but a
 * write has changed its epochs, so it must not be served.
 */
export type Lookup =
  | { readonly kind: 'unavailable' }
  | { readonly kind: 'miss'; readonly epochs: TagEpochs; readonly changed: boolean }
  | { readonly kind: 'hit'; readonly epochs: TagEpochs; readonly response: StoredResponse; readonly isLocal: boolean }

/** What `/cache` shows of a stored response. */
export interface StoredResponseInfo {
  /** Canonical path and query, such as `/agents?limit=500&offset=0`. */
  readonly url: string
  readonly group: string
  /** The route template. */
  readonly endpoint: string
  /** `everyone`, or a digest of the permissions that it was fetched for. */
  readonly scope: string
  readonly tags: readonly Tag[]
}

/** A snapshot whose rows this process has. Counts since it was first used here. */
export interface SnapshotState {
  /** As in the index. */
  readonly url: string
  readonly group: string
  readonly rows: number
  readonly bytes: number
  /** Requests that were answered from a stored snapshot: each saved one call. */
  readonly queries: number
  /** Calls to nodes that built it, each time. */
  readonly calls: number
}

/** `up`: the shared store is reachable; always true without one. */
export interface CacheStoreState {
  readonly up: boolean
  readonly local: { readonly bytes: number; readonly entries: number }
}

/**
 * One row of the index. Ages and times in milliseconds, sizes in bytes. `timeLeft`: until the entry is removed. `fetchTime`:
 * the node time that its fetch took.
 */
export interface IndexEntry extends StoredResponseInfo {
  readonly key: string
  readonly size: number
  readonly age: number
  readonly timeLeft: number
  readonly hits: number
  readonly fetchTime: number
}

/** Returns an entry as it is shown `elapsed` milliseconds after it was read. Named one by one, since a store may add fields. */
export function shownEntry(entry: IndexEntry, elapsed = 0) {
  const { key, url, group, endpoint, scope, tags, size, hits } = entry
  const [age, timeLeft] = [Math.round(entry.age + elapsed), Math.round(entry.timeLeft - elapsed)]
  return { key, url, group, endpoint, scope, tags, size, age, timeLeft, hits, fetchTime: Math.round(entry.fetchTime) }
}

/** A part of the index. Without a group, the groups follow each other by name. */
export interface IndexWindow {
  readonly group?: string
  readonly offset: number
  readonly limit: number
}

/** `total`: the rows that `count` counts. */
export interface IndexPage {
  readonly rows: readonly IndexEntry[]
  readonly total: number
}

/** What a purge removes: everything, or what one of the fields names. */
export interface PurgeScope {
  readonly group?: string
  /** The route template of an endpoint. */
  readonly endpoint?: string
  readonly tag?: Tag
  /** Removes these stored responses only. Every other scope includes responses that are being fetched. */
  readonly keys?: readonly string[]
  /** Marks as stale instead of removing. */
  readonly soft?: boolean
}

/**
 * `pending`: Redis is unreachable. This replica sends the invalidation before it uses Redis again; other replicas that
 * reach Redis may serve the responses until then.
 */
export type PurgeOutcome = 'done' | 'pending'

/** What a purge would remove. */
export interface PurgeCost {
  readonly entries: number
  readonly bytes: number
  /** Node time, in seconds, that fetching the entries again would take. */
  readonly seconds: number
  /** Entries that are never served stale, with the URLs of the first ones: after a soft purge, the next request waits for a node. */
  readonly neverStale: { readonly entries: number; readonly urls: readonly string[] }
}

/** The index of stored responses, the same through every replica and after a restart. */
export interface CacheIndex {
  /** As a lookup, but neither counted as a hit nor as a use of the stored response. */
  peek(key: string, tags: readonly Tag[]): Promise<Lookup>
  /** Rows of one group, or all, without expired ones. `onProgress` receives the rows that were read so far. */
  list(group?: string, onProgress?: (rows: readonly IndexEntry[]) => void): Promise<readonly IndexEntry[]>
  /**
   * Stored responses by group, in the order of their names, at a cost that does not depend on their number. Responses that
   * a write has invalidated, and a few that have expired, are counted until they are found and removed.
   */
  count(): Promise<ReadonlyMap<string, number>>
  /** Rows without expired and invalidated ones; those of a group have an order of the store. Costs as much as its rows. */
  page(window: IndexWindow): Promise<IndexPage>
  /** Returns the row of a key. */
  find(key: string): Promise<IndexEntry | undefined>
  /** Removes stored responses. Resolves when no replica serves them any more. */
  purge(what: PurgeScope): Promise<PurgeOutcome>
  /** Returns how many purges, of any replica, this process has received. What it listed before one is outdated. */
  purgeCount(): number
}

/** `bypass`: not cacheable, or the cache was not used; `none`: the request was rejected or failed before the cache. */
export const CACHE_OUTCOMES = ['hit', 'stale', 'miss', 'bypass', 'none'] as const
export type CacheOutcome = (typeof CACHE_OUTCOMES)[number]

/** `none`: the cache would not have answered, so there is nothing to compare. */
export type TrialComparison = 'same' | 'different' | 'inconclusive' | 'none'

/** Returns a cache status as one word. */
export function cacheOutcomeOf({ hit, fwd, detail }: CacheStatus): CacheOutcome {
  if (detail?.startsWith('stale-')) return 'stale'
  if (hit) return 'hit'
  return forwardReasons[fwd ?? 'bypass'].outcome
}
