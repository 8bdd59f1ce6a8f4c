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
