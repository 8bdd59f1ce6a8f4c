import type { Tag } from '../../catalogue/endpoint.ts'
import type { Lookup, StoredResponse, StoredResponseInfo, TagEpochs } from '../../core/response.ts'

/** A response to store, with the epochs that its tags had before it was fetched. */
export interface NewStoredResponse {
  readonly key: string
  readonly tags: readonly Tag[]
  readonly epochs: TagEpochs
  readonly response: Omit<StoredResponse, 'age'>
  /** Milliseconds that its oldest part was already old when the fetch began; 0 when absent. */
  readonly initialAge?: number
  /** What `/cache` shows of it. The store does not interpret it. */
  readonly info: StoredResponseInfo
}

/** One fetch for all replicas. `settled` resolves when the holder has stored a response, given up or died. */
export type FetchLock =
  | { readonly held: true; release(): Promise<void> }
  | { readonly held: false; readonly settled: Promise<void> }

/** A write in progress. When `fence` resolves, its tags are invalidated and fenced on every replica with a live lease. */
export interface WriteFence {
  /**
   * `localOnly`: Redis is unreachable, the local tiers of all replicas have expired meanwhile. `refused`: Redis is
   * unreachable and `onUnreachableStore` is `refuse`; the write must not be forwarded.
   */
  readonly state: 'active' | 'localOnly' | 'refused'
  /**
   * Invalidates the tags again, and those that the response named, and removes the fence. Resolves when no replica can
   * serve the older value, because it acknowledged the invalidation or its lease expired. Only then send the 2xx.
   */
  lift(more: readonly Tag[]): Promise<void>
  /** The outcome is unknown: leaves the fence until its lease expires. */
  keepUntilLeaseEnds(): void
}

/** Parts of a value that is too large for one stored response, for all replicas. */
export interface SharedParts {
  /** Stores a part for `ms` milliseconds, in place of the one with this name. Returns whether it was stored. */
  set(name: string, id: string, bytes: Buffer, ms: number): Promise<boolean>
  /** Returns the part if it was stored with this id. */
  get(name: string, id: string): Promise<Buffer | undefined>
}

export interface CacheStore {
  lookup(key: string, tags: readonly Tag[]): Lookup | Promise<Lookup>
  store(entry: NewStoredResponse): Promise<void>
  /** `patience`: milliseconds after which a holder that did not renew the lock counts as dead. */
  acquireFetchLock(key: string, epochs: TagEpochs, patience: number): Promise<FetchLock>
  fence(tags: readonly Tag[]): Promise<WriteFence>
  /** Absent: there are no other replicas. */
  readonly parts?: SharedParts
}
