import type { Readable } from 'node:stream'
import type { CacheStatus, DegradedDetail, OUTAGE, WITHOUT_REDIS } from './cache.ts'
import type { AgedResponse, StoredResponse } from './stored-response.ts'

export type EdgeResponse = FileResponse | EnvelopeResponse

/** What a read through the cache returns to the cache itself. Clients get no snapshots. */
export type ReadResponse = EdgeResponse | SnapshotResponse

/** What may be stored. */
export type CacheableResponse = EnvelopeResponse | SnapshotResponse

/** A file, which is streamed. */
interface FileResponse {
  readonly kind: 'file'
  readonly status: number
  readonly type: string
  readonly length?: number
  readonly stream: Readable
}

/** The head of a snapshot of a collection, as JSON. Its rows are stored apart. */
export interface SnapshotResponse {
  readonly kind: 'snapshot'
  readonly body: Buffer
  readonly origin: SnapshotOrigin
  /** Absent: it may not be stored. */
  readonly cached?: AgedResponse & { readonly status: CacheStatus }
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
export type StorableOrigin = NodeOrigin | JoinedOrigin | ComputedOrigin

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
  /** Milliseconds that caches in front of the node have stored the response, or one of which it was made. */
  readonly age: number
  /** The rows of the last list `items` in `data`, so that a join need not search for them; `undefined`: not known. */
  readonly rows: RowRanges | undefined
  /** Whether the node says that rows of other nodes are missing. */
  readonly namesFailedNodes: boolean
  /** The body is `application/problem+json`, by which the v4 contract reports errors. */
  readonly isProblem: boolean
}

/** The detail that a joined response has if one of its parts has it. */
type PartMark = typeof OUTAGE | typeof WITHOUT_REDIS

/** What the parts say about the response that was made of them. */
export interface MadeOfParts {
  /** The value of `Cluster-Status`, with one member for each node that was called; empty: the edge joined nothing. */
  readonly clusterStatus: string
  /**
   * `partial`: parts of some nodes are missing or stale, so it must not be stored. `cut`: neither, and it lacks the rows of
   * agents that would cost too many calls. `knownGaps`: it lacks rows that no node can return; it names them, and may be stored.
   */
  readonly completeness: 'complete' | 'knownGaps' | 'partial' | 'cut'
  /** The age of its oldest stored part, in milliseconds. */
  readonly oldestPartAge: number
  /** How long all stored parts are still fresh, in milliseconds; not positive if one is stale, Infinity without any. */
  readonly partsFreshFor: number
  /** A part is served because Redis is unreachable, or because no node answers that could answer it. */
  readonly mark: PartMark | undefined
}

/** Of how many agents that a read concerns its response has all rows. */
export interface Coverage {
  readonly covered: number
  readonly all: number
}

/** Returns a member of `Cluster-Status`. No node can have its name. */
export function formatCoverage({ covered, all }: Coverage): string {
  return `*;agents=${covered};all-agents=${all}`
}

/** The responses of several nodes, joined. */
export interface JoinedOrigin extends MadeOfParts {
  readonly kind: 'joined'
  /** Of a write: some of the nodes may have acted, or may not have finished. */
  readonly isUnfinished: boolean
}

/** All rows of a joined collection. */
export interface AllRowsOrigin extends MadeOfParts {
  readonly kind: 'allRows'
  /** The number of calls to nodes that returned rows. */
  readonly fetchedParts: number
}

interface SnapshotOrigin extends MadeOfParts {
  readonly kind: 'snapshot'
  readonly rowBytes: number
}

/** Computed from a snapshot of the collection. */
interface ComputedOrigin extends MadeOfParts {
  readonly kind: 'computed'
  /** From a stored one without a call, from one that was fetched for it, or from one that is served because nodes fail or Redis is unreachable. */
  readonly from: 'stored' | 'fetched' | DegradedDetail
}

/** A response that may be stored: clients may store and revalidate it too. */
export type CachedResponse = StoredOrigin | FetchedOrigin

export interface StoredOrigin extends AgedResponse<StoredResponse> {
  readonly kind: 'stored'
  readonly status: CacheStatus
  /**
   * Of a fresh hit that callers of an endpoint share: returns the response to an equal request later, with its age then;
   * `undefined`: it is no fresh hit of the local tier any more. It never calls a node or Redis.
   */
  readonly repeat?: (() => EnvelopeResponse<StoredOrigin> | undefined) | undefined
}

/** It was fetched, and is stored unless it is stale already. */
interface FetchedOrigin extends AgedResponse<StoredResponse> {
  readonly kind: 'fetched'
  readonly status: CacheStatus
  readonly from: Origin
}

/** A read-only trial, in which clients must not store responses. */
interface TrialOrigin {
  readonly kind: 'trial'
  readonly status: CacheStatus
  readonly of: Origin
}

export const OF_EDGE: EdgeOrigin = { kind: 'edge', headers: {}, isUnfinished: false }

/** The error by which the manager refuses what the roles of the caller do not permit. No other error is stored. */
export const REFUSED_BY_RIGHTS = 4000

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
