/** What the console's API answers of the edge as a whole. Times in milliseconds, sizes in bytes. */

export interface Standing {
  readonly edge: {
    readonly name: string
    readonly version: string
    readonly uptime: number
    /** Where clients reach it. */
    readonly url: string
    readonly ready: boolean
    readonly reasons: readonly string[]
  }
  readonly cache: CacheStanding
  readonly you: { readonly name: string; readonly mayPurge: boolean }
}

export interface CacheStanding {
  readonly enabled: boolean
  readonly shared: boolean
  /** Does Redis answer? Absent without one. */
  readonly away?: boolean
  /** What the store last said of itself. */
  readonly lastEvent?: { readonly event: string; readonly reason?: string; readonly ago: number }
}

/** One moment, or a stretch of time. Latencies are absent where nobody asked. */
export interface Rates {
  readonly perSecond: number
  /** Of the requests that the cache could have answered; absent: there were none. */
  readonly hitRatio?: number
  readonly p50?: number
  readonly p99?: number
  readonly callsPerSecond: number
  /** Milliseconds of a manager's time that hits saved, each second. */
  readonly savedPerSecond: number
  readonly failuresPerSecond: number
}

export interface Now extends Standing {
  /** Of the last ten seconds. */
  readonly rates: Rates
  readonly sinceStart: Totals
}

export interface Totals {
  readonly requests: number
  readonly hits: number
  readonly cacheable: number
  readonly calls: number
  readonly saved: number
  readonly failures: number
}

/** Columns of equal length: one point for each stretch, oldest first; `null`: nobody asked, or this replica did not run. */
export interface History {
  /** Milliseconds of one stretch. */
  readonly stretch: number
  /** Seconds since 1970, the end of each stretch. */
  readonly at: readonly number[]
  readonly perSecond: readonly (number | null)[]
  readonly hitRatio: readonly (number | null)[]
  readonly p50: readonly (number | null)[]
  readonly p99: readonly (number | null)[]
  readonly callsPerSecond: readonly (number | null)[]
  readonly savedPerSecond: readonly (number | null)[]
}

/** What the console's API answers of the nodes and of the other replicas. Times in milliseconds, sizes in bytes. */

export interface NodeLine {
  readonly name: string
  readonly type: 'master' | 'worker'
  readonly state: 'up' | 'ejected' | 'full' | 'no address' | 'not listed'
  readonly version?: string
  readonly inFlight: number
  readonly limit: number
  readonly queue: number
  /** Of the last five minutes. */
  readonly p50?: number
  readonly p99?: number
  readonly calls: number
  readonly errors: number
  readonly lastFailure?: { readonly fault: string; readonly detail: string; readonly ago: number }
  /** Milliseconds from now. */
  readonly ejectedFor?: number
}

/** An answer that was joined of what several nodes gave. */
export interface JoinedLine {
  readonly ago: number
  readonly route: string
  readonly ms: number
  readonly nodes: readonly ShareLine[]
}

/** What one node did for it. */
export interface ShareLine {
  readonly node: string
  /** On the page, and of how many; absent: it gave none. */
  readonly rows?: number
  readonly total?: number
  /** Absent: what it gave had been kept. */
  readonly ms?: number
  readonly error?: string
}

export interface ReplicaLine {
  readonly name: string
  readonly version: string
  readonly ago: number
  readonly ready: boolean
  readonly rates: Rates
  readonly nodes: readonly Pick<NodeLine, 'name' | 'state' | 'inFlight' | 'limit'>[]
  /** The newest first, as many as there was room for; absent: the replica is of a version that does not tell. */
  readonly joined?: readonly JoinedLine[]
}

export interface Nodes {
  readonly nodes: readonly NodeLine[]
  /** By this replica, the newest first. */
  readonly joined: readonly JoinedLine[]
  /** Beside this one. Absent: nothing is shared, so none can be known; `null`: Redis does not answer. */
  readonly replicas?: readonly ReplicaLine[] | null
}

/** What the console's API answers of kept answers. Times in milliseconds, sizes in bytes. */

export interface GroupLine {
  readonly group: string
  readonly entries: number
  readonly bytes: number
  /** Since this replica started. */
  readonly hits: number
  readonly misses: number
  readonly oldest?: number
  /** What filling all of it again would cost. */
  readonly cost: number
  /** Sampled hits that were compared upstream, and those that differed. */
  readonly divergence?: { readonly asked: number; readonly different: number }
}

export interface Groups {
  /** Milliseconds since the index was read. */
  readonly age: number
  /** It is being read, and there are more. */
  readonly unfinished: boolean
  readonly groups: readonly GroupLine[]
  readonly endpoints: readonly string[]
}

export interface EntryLine {
  readonly key: string
  readonly url: string
  readonly group: string
  readonly endpoint: string
  readonly scope: string
  readonly tags: readonly string[]
  readonly size: number
  readonly age: number
  readonly timeLeft: number
  readonly hits: number
  readonly cost: number
}

export interface EntryPage {
  readonly age: number
  /** The index is being read: what stands here is of those that were read so far. */
  readonly unfinished: boolean
  /** Of all that match, and of all there are. */
  readonly total: number
  readonly all: number
  readonly bytes: number
  readonly offset: number
  readonly items: readonly EntryLine[]
}

export interface EntryDepth extends EntryLine {
  readonly permission: string
  readonly etag?: string
  /** Bytes by encoding, as far as they were made. */
  readonly encodings: Readonly<Record<string, number>>
  /** Until it is stale; below zero: it is. Absent where it is not there any more, or made for others. */
  readonly freshFor?: number
  readonly fenced: boolean
  /** Held in the memory of this replica as well. */
  readonly near: boolean
  readonly body: BodyAccess
}

/** Would the next request of a URL hit, and why? What stands only where the answer may be kept is absent elsewhere. */
export interface Explanation {
  readonly kept: boolean
  /** Why it is never kept. */
  readonly why?: string
  readonly endpoint?: string
  /** Canonical. */
  readonly url?: string
  readonly key?: string
  readonly group?: string
  readonly scope?: string
  readonly tags?: readonly string[]
  readonly next?: { readonly hit: boolean; readonly reason: string; readonly age?: number; readonly timeLeft?: number }
  /** Writes that would drop it; `when`: only with such a value. */
  readonly droppedBy?: readonly { readonly write: string; readonly when?: readonly string[] }[]
}

export type BodyAccess =
  | { readonly shown: true; readonly text: string; readonly cut: boolean }
  | { readonly shown: false; readonly why: string }

export interface PurgeCost {
  readonly entries: number
  readonly bytes: number
  /** Seconds of a node's time to fetch it again. */
  readonly seconds: number
}

export interface PurgeOrder {
  /** Neither: everything. */
  readonly group?: string
  readonly key?: string
  readonly soft: boolean
  readonly preview: boolean
}

/** What the console's API tells of requests as they are answered. Times in milliseconds, sizes in bytes. */

/** One request in the live tail. No URL, no body. */
export interface TailLine {
  readonly id: string
  /** Milliseconds since 1970. */
  readonly at: number
  readonly method: string
  readonly route: string
  readonly status: number
  readonly ms: number
  readonly bytes: number
  readonly cache: string
  readonly user: string
  readonly client: string
  readonly node?: string
}

/** What one event of the tail carries; `skipped`: lines that came too fast to be sent. */
export interface TailBatch {
  readonly lines: readonly TailLine[]
  readonly skipped: number
}
