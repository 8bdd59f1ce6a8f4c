/** Reads as the console records them and the cache replays them with other settings. */

/**
 * A read of a response that may be stored. Hits of the same response shortly after each other are one record. All times in
 * milliseconds, moments since 1970.
 */
export interface RecordedRead {
  /** When the request arrived. */
  readonly at: number
  /** Names the stored response: the digest of its key, or that of the snapshot which answered. */
  readonly key: number
  readonly group: string
  /** The route template. */
  readonly route: string
  /** The number of reads. 0: another replica fetched the response at this time, for a read that is not recorded here. */
  readonly reads: number
  /** Counts the invalidations of the response: one that was stored under another version is not served. */
  readonly version: number
  /** The client asked for a new response. */
  readonly isForced: boolean
  /** When the response that was served had arrived; absent: it was fetched for this read, or this is not known. */
  readonly arrivedAt?: number
  /** The time that a fetch of the response takes. */
  readonly fetchTime: number
  /** The length of the body. */
  readonly bytes: number
}

export interface ReplaySettings {
  /** Returns the freshness lifetime of the endpoint, in milliseconds. */
  ttlOf(group: string, route: string): number
  /** The size of the local tier. */
  readonly localBytes: number
}

/** What the cache would have done with the reads of an endpoint. */
export interface ReplayCounts {
  reads: number
  /** Reads that were answered from the cache, fresh or stale. */
  hits: number
  /** Fetches from the nodes, for clients and in the background. */
  fetches: number
  /** The ages of all hits together, in milliseconds since their fetch began. */
  ages: number
}

export interface Replayed {
  readonly routes: ReadonlyMap<string, ReplayCounts>
  /** Hits that the local tier answered. */
  readonly localHits: number
  /** Responses that the local tier removed because of its size. */
  readonly evictions: number
}

/** Replays reads in the order of their times. */
export type Replay = (reads: readonly RecordedRead[], settings: ReplaySettings) => Promise<Replayed>
