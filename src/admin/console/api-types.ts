/** JSON bodies of the console API (`/api/…` of the operations listener). Times are milliseconds, sizes are bytes. */
import type { NodeSummary } from './node-types.ts'
import type { Problem } from './problem-types.ts'
import type { Rates } from './rates-types.ts'

export type { Rates } from './rates-types.ts'

/** `GET /api/now`. */
export interface Now {
  readonly edge: {
    readonly name: string
    readonly version: string
    readonly uptime: number
    /** The address at which clients reach the edge. */
    readonly url: string
    readonly ready: boolean
    /** Reasons why the edge is not ready. */
    readonly reasons: readonly string[]
  }
  /** As in `GET /api/problems`: the page needs them on every view. */
  readonly problems: readonly Problem[]
  readonly nodes: readonly NodeLoad[]
  readonly cache: CacheState
  /** The operator who is signed in. */
  readonly operator: { readonly name: string; readonly mayPurge: boolean }
  /** Rates of the last ten seconds. */
  readonly rates: Rates
  /** Counts since this replica started. */
  readonly totals: Totals
}

/** The present load of a node by the calls of this replica. */
export type NodeLoad = Pick<NodeSummary, 'name' | 'type' | 'state' | 'inFlight' | 'limit' | 'queue'>

export interface RedisFault {
  readonly reason: 'redisUnreachable' | 'redisSlow' | 'redisFull' | 'redisWrongType'
  readonly detail: string
}

export interface CacheState {
  readonly enabled: boolean
  /** Whether replicas share the cache through Redis. */
  readonly shared: boolean
  /** Whether Redis is slow or unreachable. Absent without Redis. */
  readonly unreachable?: boolean
  /** What is wrong with Redis, and what to do. */
  readonly faults?: readonly RedisFault[]
  /** The last event of the cache store. */
  readonly lastEvent?: { readonly event: string; readonly reason?: string; readonly ago: number }
}

export interface Totals {
  readonly requests: number
  readonly hits: number
  readonly cacheable: number
  /** Calls to nodes. */
  readonly calls: number
  /** Milliseconds of node time that cache hits saved. */
  readonly saved: number
  /** Responses with a 5xx status. */
  readonly failures: number
}

/** `GET /api/groups`. */
export interface Groups {
  /** Time since the cache index was read. */
  readonly age: number
  /** The index is still being read; the counts cover the entries that were read so far. */
  readonly partial: boolean
  readonly groups: readonly GroupSummary[]
  /** Endpoints that have an entry. */
  readonly endpoints: readonly string[]
  readonly snapshots: readonly SnapshotSummary[]
}

/** A snapshot of a collection in the memory of this replica. Counts since it was first used here. */
export interface SnapshotSummary {
  readonly url: string
  readonly group: string
  readonly rows: number
  readonly bytes: number
  /** Requests that were answered from it. Each saved one call. */
  readonly queries: number
  /** Calls to nodes that built it. */
  readonly calls: number
}

export interface GroupSummary {
  readonly group: string
  readonly entries: number
  readonly bytes: number
  /** Hits and misses since this replica started. */
  readonly hits: number
  readonly misses: number
  /** Age of the oldest entry. */
  readonly oldest?: number
  /** Node time that fetching all entries again would take. */
  readonly refillCost: number
  /** Number of hits that were compared with the response of a node, and how many differed. */
  readonly divergence?: { readonly compared: number; readonly different: number }
}

export interface EntrySummary {
  readonly key: string
  readonly url: string
  readonly group: string
  readonly endpoint: string
  readonly scope: string
  readonly tags: readonly string[]
  readonly size: number
  readonly age: number
  /** Time until the entry is removed. */
  readonly timeLeft: number
  readonly hits: number
  /** Node time that the entry's fetch took. */
  readonly fetchTime: number
}

/** `GET /api/entries`. */
export interface EntryPage {
  /** Time since the cache index was read. */
  readonly age: number
  /** The index is still being read; the page covers the entries that were read so far. */
  readonly partial: boolean
  /** Number of entries that match the query. */
  readonly total: number
  /** Number of entries in the cache. */
  readonly all: number
  /** Size of the entries that match the query. */
  readonly bytes: number
  readonly offset: number
  readonly items: readonly EntrySummary[]
}

/** `GET /api/entries/:key`. */
export interface EntryDetails extends EntrySummary {
  /** The permission that a read of the endpoint needs. */
  readonly permission: string
  readonly etag?: string
  /** Size per content coding, for the codings that were made so far. */
  readonly encodings: Readonly<Record<string, number>>
  /** Time until the entry is stale, negative if it is. Absent if the response cannot be read by this caller. */
  readonly freshFor?: number
  /** A write to the data is in progress, or its outcome is unknown. */
  readonly fenced: boolean
  /** Whether the local tier of this replica holds a copy. */
  readonly local: boolean
  readonly body: EntryBody
}

export type EntryBody =
  | { readonly shown: true; readonly text: string; readonly truncated: boolean }
  | { readonly shown: false; readonly reason: string }

/** `GET /api/explain`: has the fields of the public `GET /cache/explain`. */
export interface Explanation {
  /** Whether responses of the endpoint may be stored. All fields below except `endpoint` need that. */
  readonly cacheable: boolean
  /** Why responses of the endpoint are never stored. */
  readonly reason?: string
  readonly endpoint?: string
  /** The canonical URL. */
  readonly url?: string
  readonly key?: string
  readonly group?: string
  readonly scope?: string
  readonly tags?: readonly string[]
  readonly next?: { readonly hit: boolean; readonly reason: string; readonly age?: number; readonly timeLeft?: number }
  /** Writes that invalidate the entry. `when`: only if a value of the write matches. */
  readonly invalidatedBy?: readonly { readonly write: string; readonly when?: readonly string[] }[]
}
