import type { Tag } from '../../catalogue/endpoint.ts'
import type { Lookup, StoredResponse, StoredResponseInfo, TagEpochs } from '../../core/response.ts'

/** An answer to be kept as of the mark that its fill began with. */
export interface NewStoredResponse {
  readonly key: string
  readonly tags: readonly Tag[]
  readonly epochs: TagEpochs
  readonly response: Omit<StoredResponse, 'age'>
  /** Milliseconds that it is older than its fill: the age that its oldest part had been kept for by then. */
  readonly initialAge?: number
  /** What `/cache` shows of it; none of it is looked into by the store. */
  readonly info: StoredResponseInfo
}

/** One fill for all replicas. `settled` resolves when the holder has kept an answer, given up or died. */
export type FetchLock =
  | { readonly held: true; release(): Promise<void> }
  | { readonly held: false; readonly settled: Promise<void> }

/** A write under way. Its tags are raised and fenced on every replica with a live lease when `fence` resolves. */
export interface WriteFence {
  /** `refused`: nobody can be told, and `onLostStore` is `refuse`: the write must not be forwarded. */
  readonly state: 'active' | 'localOnly' | 'refused'
  /**
   * Raises the tags again, and those that the answer named, drops the fence, and resolves when no replica can serve
   * what was before (or when its lease has run out): only then may the 2xx leave.
   */
  lift(more: readonly Tag[]): Promise<void>
  /** The outcome is unknown: the fence stays for its lease. */
  keepUntilLeaseEnds(): void
}

export interface CacheStore {
  lookup(key: string, tags: readonly Tag[]): Lookup | Promise<Lookup>
  store(entry: NewStoredResponse): Promise<void>
  /** `patience`: milliseconds after which a holder that gave no sign counts as dead. */
  acquireFetchLock(key: string, mark: TagEpochs, patience: number): Promise<FetchLock>
  fence(tags: readonly Tag[]): Promise<WriteFence>
}
