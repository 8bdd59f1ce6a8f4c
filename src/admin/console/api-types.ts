/** JSON bodies of the console API (`/api/…` of the operations listener). Times are milliseconds, sizes are bytes. */
import type { Problem } from './problem-types.ts'

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

export interface CacheState {
  readonly enabled: boolean
  /** Whether replicas share the cache through Redis. */
  readonly shared: boolean
  /** Whether Redis is unreachable. Absent without Redis. */
  readonly unreachable?: boolean
  /** The last event of the cache store. */
  readonly lastEvent?: { readonly event: string; readonly reason?: string; readonly ago: number }
}

/** Rates over one period. The ratio and the latencies are absent if the period had no such request. */
export interface Rates {
  readonly perSecond: number
  /** Hits divided by cacheable requests. */
  readonly hitRatio?: number
  readonly p50?: number
  readonly p99?: number
  /** Calls to nodes. */
  readonly callsPerSecond: number
  /** Milliseconds of node time that cache hits saved, per second. */
  readonly savedPerSecond: number
  /** Responses with a 5xx status. */
  readonly failuresPerSecond: number
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

/** `GET /api/nodes`. */
export interface Nodes {
  readonly nodes: readonly NodeSummary[]
  /** The names of the nodes by the layout of their API, if they have different ones: writes are refused then. */
  readonly mixture?: { readonly classic: readonly string[]; readonly newer: readonly string[] }
  /** Joined responses of this replica, newest first. */
  readonly joined: readonly JoinedResponse[]
  /** The other replicas. Absent without Redis; `null` if Redis is unreachable. */
  readonly replicas?: readonly ReplicaSummary[] | null
}

/** A node as this replica sees it. Latencies, calls and errors cover the last five minutes. */
export interface NodeSummary {
  readonly name: string
  readonly type: 'master' | 'worker'
  readonly state: 'up' | 'ejected' | 'cut off' | 'full' | 'no address' | 'not listed'
  readonly version?: string
  /** The layout of its API. Absent: not recognised yet, or the node has no address. */
  readonly layout?: 'classic' | 'newer'
  /** Calls of this replica. */
  readonly inFlight: number
  /** Concurrent calls of all replicas together. */
  readonly limit: number
  /** Slots of the limit that this replica may use now. */
  readonly slots: number
  /** Number of queued calls. */
  readonly queue: number
  /** Calls of the last minute by all replicas, and how many the node answers. Absent: the node has no limit. */
  readonly budget?: { readonly used: number; readonly limit: number }
  readonly p50?: number
  readonly p99?: number
  readonly calls: number
  readonly errors: number
  readonly lastFailure?: { readonly fault: string; readonly detail: string; readonly ago: number }
  /** Time until a node that is ejected or cut off is probed. */
  readonly ejectedFor?: number
}

/** A response that the edge joined from the responses of several nodes. */
export interface JoinedResponse {
  readonly ago: number
  readonly route: string
  readonly ms: number
  readonly nodes: readonly NodePart[]
}

/** The contribution of one node to a joined response. */
export interface NodePart {
  readonly node: string
  /** Rows on the page, and in total. Absent if the node contributed none. */
  readonly rows?: number
  readonly total?: number
  /** Absent if the part came from the cache. */
  readonly ms?: number
  readonly error?: string
}

export interface ReplicaSummary {
  readonly name: string
  readonly version: string
  /** Time since the replica's last report. */
  readonly ago: number
  readonly ready: boolean
  /** Time between the latest response of a node and the report; absent: there was none, or the version reports none. */
  readonly reachedAgo?: number
  /** Whether the latest call of the replica to each node failed. */
  readonly cutOff?: boolean
  /** Nodes whose latest call failed, with the time between that call and the report. */
  readonly failing?: readonly { readonly node: string; readonly ago: number }[]
  readonly rates: Rates
  readonly nodes: readonly Pick<NodeSummary, 'name' | 'state' | 'inFlight' | 'limit'>[]
  /** The newest joined responses, as many as fit. Absent if the version of the replica does not report them. */
  readonly joined?: readonly JoinedResponse[]
}

/** `GET /api/requests`, an event stream: the data of one event. */
export interface TailBatch {
  readonly requests: readonly TailRequest[]
  /** Number of requests that were not sent, because the rate was too high. */
  readonly skipped: number
}

/** A request in the live tail. Carries neither URL nor body. */
export interface TailRequest {
  readonly id: string
  /** Milliseconds since 1970. */
  readonly at: number
  readonly method: string
  readonly route: string
  /** 0 if the client disconnected before the response. */
  readonly status: number
  readonly ms: number
  readonly bytes: number
  readonly cache: string
  readonly user: string
  readonly client: string
  /** The nodes that were called, separated by commas. */
  readonly node?: string
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
