import type { Tag } from '../../contracts/endpoint.ts'
import type { IndexEntry } from '../../core/cache-entries.ts'
import type { ClientPresence } from '../../core/presence.ts'
import type { Lookup, StoredBytes, StoredRead, TagEpochs } from '../../core/stored-response.ts'

/** Keys of bytes that no read returns. */
export type BytesKey = `bytes:${string}`

export type BytesLookup = Lookup<StoredBytes>

/** What `/cache` shows of a stored response from the time when it is stored. */
export type StoredResponseInfo = Pick<IndexEntry, 'url' | 'group' | 'endpoint' | 'scope' | 'tags'>

/** Bytes to store, with the epochs that their tags had before it was found out what they say. */
export interface NewEntry<Of extends StoredBytes = StoredRead, Key extends string = string> {
  readonly key: Key
  readonly tags: readonly Tag[]
  readonly epochs: TagEpochs
  readonly stored: Of
  /** Milliseconds that they, or their oldest part, were already old when the epochs were read; 0 when absent. */
  readonly initialAge?: number
  /** What `/cache` shows of them. The store does not interpret it. Absent: they are not listed. */
  readonly info?: StoredResponseInfo
  /** For this replica alone: they were fetched while Redis was unreachable. */
  readonly isLocal?: boolean
  /** The fetch lock under which they were fetched. The step that stores them releases it, if it can. */
  readonly lock?: SharedLock | undefined
}

/** Bytes of any kind that all replicas find until they expire, or a write to one of their tags begins. */
export interface EpochStore<Of extends StoredBytes = StoredBytes, Key extends string = BytesKey> {
  lookup(key: Key, tags: readonly Tag[]): Lookup<Of> | Promise<Lookup<Of>>
  /** As `lookup`, in the memory of this process alone; `undefined`: there are no valid ones there. */
  lookupLocal(key: Key, tags: readonly Tag[]): Lookup<Of> | undefined
  /** Returns undefined if the entry was processed at once. */
  store(entry: NewEntry<Of, Key>): Promise<void> | undefined
}

/** A lock that one replica at a time holds. `settled` resolves when the holder has released it or died. */
export type Lock = HeldLock | { readonly held: false; readonly settled: Promise<void> }

interface HeldLock {
  readonly held: true
  /** Of a fetch lock: nothing is stored under its key, and the epochs were read a moment ago, so a lookup would find the same. */
  readonly isMissing?: boolean
  /** Absent: no other replica waits for the lock. */
  readonly shared?: SharedLock
  /** Does nothing if the lock has been released. */
  readonly release: () => Promise<void>
}

/** What a script needs in order to release a fetch lock. */
export interface SharedLock {
  readonly key: string
  readonly token: string
  readonly name: string
  /** The key of the entry in Redis, if the script that stores it may release the lock: both are in one slot. */
  readonly entry: string | undefined
  /** To be called when the script has released it. */
  end(): void
}

/** One write of a name for all replicas. `lease`: milliseconds after which a holder that did not renew the lock is dead. */
export type AcquireWriteLock = (name: string, lease: number) => Promise<Lock>

/** Milliseconds that an invalidation may wait for Redis in any case: a slow link needs some round trips. */
export const STORE_WAIT_MS = 5000

/** A write in progress. When `fence` resolves, its tags are invalidated and fenced on every replica with a live lease. */
export interface WriteFence {
  /**
   * `refused`: Redis has not confirmed the fence, so the write must not be forwarded. `localOnly`: neither, but the write
   * is forwarded, as `cache.writesWithoutRedis` allows. The local tiers of replicas without Redis have expired meanwhile.
   */
  readonly state: 'active' | 'localOnly' | 'refused'
  /**
   * Invalidates the tags again, and those that the response named, and removes the fence. Resolves with true when no
   * replica can serve the older value, because it acknowledged the invalidation or its lease expired. Only then send the
   * 2xx. Resolves with false if Redis has not confirmed this after `ms` milliseconds (default: `STORE_WAIT_MS`): the fence
   * stays, at most until its lease ends, and is removed when Redis is reachable again.
   */
  lift(more: readonly Tag[], ms?: number): Promise<boolean>
  /** The outcome is unknown: leaves the fence until its lease expires. */
  keepUntilLeaseEnds(): void
}

interface PartReading {
  readonly timeout?: number
  readonly atOnce?: number
}

/** Values that are too large for one key of the store, in parts, for all replicas. */
export interface SharedParts {
  /** Stores the parts for `ms` milliseconds, in place of those with this name. Returns whether all of them were stored. */
  set(name: string, id: string, parts: readonly Buffer[], ms: number): Promise<boolean>
  /**
   * Returns the first `count` parts if all of them were stored with this id. `timeout`: milliseconds for each of them. `atOnce`:
   * how many are read in one round trip (default: 1).
   */
  get(name: string, id: string, count: number, how?: PartReading): Promise<readonly Buffer[] | undefined>
}

export interface CacheStore extends EpochStore<StoredRead, string> {
  /**
   * As `lookupLocal`, while Redis is unreachable: another replica may have written since, this one has not. The epochs are the
   * latest that this replica has read; `undefined`: it has read none since its latest write. Absent: there is no Redis.
   */
  lookupWithoutRedis?(key: string, tags: readonly Tag[]): Lookup | undefined
  /**
   * One fetch for all replicas. `lease`: as of a write lock. `presence`: of the clients that await the fetch. The holder's counts
   * interactive clients that wait for the lock.
   */
  acquireFetchLock(key: string, epochs: TagEpochs, lease: number, presence?: ClientPresence): Lock | Promise<Lock>
  /** `ms`: how long to wait for Redis, in milliseconds (default: `STORE_WAIT_MS`). */
  fence(tags: readonly Tag[], ms?: number): Promise<WriteFence>
  /** Absent: there are no other replicas. */
  readonly parts?: SharedParts
}
