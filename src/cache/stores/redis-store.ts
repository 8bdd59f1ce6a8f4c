/** The store that all replicas share over Redis. A lookup is one round trip, two for a long body, none in the local tier. */

import type { Tag } from '../../contracts/endpoint.ts'
import type { CacheStoreState } from '../../core/cache.ts'
import type { CacheIndex } from '../../core/cache-index.ts'
import type { Lookup, StoredBytes, TagEpochs } from '../../core/stored-response.ts'
import type { OnStoreEvent } from '../../replicas/options.ts'
import type { RedisReplica } from '../../replicas/replica.ts'
import { Acknowledgements } from './acknowledgements.ts'
import type { AcquireWriteLock, CacheStore, EpochStore, NewEntry, SharedParts } from './contract.ts'
import { createEntryCodec } from './entry-codec.ts'
import { EpochReader } from './epoch-reader.ts'
import { compareEpochs, purgeTags } from './epochs.ts'
import { createFetchLocks } from './fetch-locks.ts'
import { InvalidationSubscriber } from './invalidation-subscriber.ts'
import { Invalidator } from './invalidator.ts'
import { KnownEpochs } from './known-epochs.ts'
import { localLookup, toLocalEntry } from './local-entries.ts'
import { LocalTier } from './local-tier.ts'
import { writeLockName } from './lock-names.ts'
import { Locks } from './locks.ts'
import { RedisEntries } from './redis-entries.ts'
import { RedisLookups } from './redis-lookups.ts'
import { ResponseIndex } from './response-index.ts'

export interface RedisStoreOptions {
  readonly replica: RedisReplica
  /** The names of all cache groups. */
  readonly groups: readonly string[]
  /** Size of the local tier in bytes; 0 disables it. */
  readonly localBytes: () => number
  /** Encrypts entries and index rows. Without it, they have a check against damage only. */
  readonly encryptionKey?: Buffer
  /** A write whose invalidation Redis has not confirmed. Absent: `refuse`. */
  readonly writesWithoutRedis?: () => 'refuse' | 'sendAndRiskStaleReads'
  readonly onEvent?: OnStoreEvent
}

/** Must be called before the replica starts. The caller starts the replica, and closes it after the store. */
export function createRedisStore(options: RedisStoreOptions): RedisStore {
  return new RedisCache(options)
}

export type RedisStore = Pick<RedisCache, keyof RedisCache>

/** Its public functions are no methods, because callers pass single ones on. */
class RedisCache implements CacheStore, CacheIndex, EpochStore {
  readonly parts: SharedParts
  readonly acquireFetchLock: CacheStore['acquireFetchLock']
  readonly #replica: RedisReplica
  readonly #known: KnownEpochs
  readonly #epochs: EpochReader
  readonly #local: LocalTier
  readonly #entries: RedisEntries
  readonly #lookups: RedisLookups
  readonly #index: ResponseIndex
  readonly #fetchLocks: Locks
  readonly #writeLocks: Locks
  readonly #invalidator: Invalidator
  #purges = 0

  constructor(options: RedisStoreOptions) {
    const { replica, localBytes, encryptionKey, onEvent = () => {} } = options
    const known = new KnownEpochs(localBytes)
    const codec = createEntryCodec(encryptionKey)
    this.#replica = replica
    this.#known = known
    this.#epochs = new EpochReader(replica, known)
    this.#local = new LocalTier({ maxBytes: localBytes, elapsed: replica.elapsed, epochs: known })
    this.#entries = new RedisEntries({ replica, codec, onEvent })
    this.#lookups = new RedisLookups({ replica, epochs: this.#epochs, entries: this.#entries })
    this.parts = this.#entries.parts
    this.#index = new ResponseIndex({ replica, codec, epochs: this.#epochs, groups: [...options.groups].sort() })
    this.#fetchLocks = new Locks(replica, replica.bodies)
    this.acquireFetchLock = createFetchLocks(replica, this.#fetchLocks, this.#local)
    this.#writeLocks = new Locks(replica, replica.commands)
    const acknowledgements = new Acknowledgements()
    const invalidator = new Invalidator({
      replica,
      known,
      acknowledgements,
      risksStaleReads: () => options.writesWithoutRedis?.() === 'sendAndRiskStaleReads',
      onEvent,
    })
    this.#invalidator = invalidator
    new InvalidationSubscriber({
      replica,
      known,
      acknowledgements,
      onEvent,
      onLockMessage: (message) => {
        this.#fetchLocks.receive(message)
        this.#writeLocks.receive(message)
      },
      onReplaced: (key) => this.#local.delete(key),
      onPurge: () => {
        this.#purges += 1
        return this.#index.flushRows()
      },
    })
    replica.contact.recoverWith({
      restore: () => invalidator.sendPending(),
      onGenerationChange: () => {
        known.clear()
        invalidator.renewFences()
      },
    })
  }

  readonly acquireWriteLock: AcquireWriteLock = (name, lease) => this.#writeLocks.acquire(writeLockName(name), lease)
  readonly fence: CacheStore['fence'] = (...fence) => this.#invalidator.fence(...fence)
  readonly list: CacheIndex['list'] = (...listing) => this.#index.list(...listing)
  readonly count: CacheIndex['count'] = () => this.#index.count()
  readonly page: CacheIndex['page'] = (window) => this.#index.page(window)
  readonly find: CacheIndex['find'] = (key) => this.#index.find(key)
  readonly purgeCount = (): number => this.#purges

  /** Returns without a promise for a hit in the local tier. */
  readonly lookup: CacheStore['lookup'] = (key, tags) => this.lookupLocal(key, tags) ?? this.#lookupInRedis(key, tags)

  readonly lookupLocal: CacheStore['lookupLocal'] = (key, tags) => {
    const now = this.#replica.elapsed()
    const entry = this.#replica.heartbeat.hasLease(now) ? this.#local.find(key, tags, now) : undefined
    if (entry === undefined) return undefined
    this.#index.countHit(key, entry)
    return localLookup(entry, now)
  }

  /** The writes of this replica have invalidated the epochs that it knows, also without Redis. */
  readonly lookupWithoutRedis = (key: string, tags: readonly Tag[]): Lookup | undefined => {
    const now = this.#replica.elapsed()
    const entry = this.#local.find(key, tags, now)
    if (entry !== undefined) return localLookup(entry, now)
    const epochs = this.#known.of(key, tags)
    return epochs && { kind: 'miss', epochs: { ...epochs, readAt: now }, changed: false }
  }

  async #lookupInRedis(key: string, tags: readonly Tag[]): Promise<Lookup> {
    const { lookup, entry } = await this.#lookups.find(key, tags)
    if (entry !== undefined) {
      this.#local.put(key, entry)
      this.#index.countHit(key, entry)
    }
    return lookup
  }

  readonly peek: CacheIndex['peek'] = async (key, tags) => {
    const now = this.#replica.elapsed()
    const entry = this.#replica.heartbeat.hasLease(now) ? this.#local.peek(key, tags, now) : undefined
    return entry === undefined ? (await this.#lookups.find(key, tags)).lookup : localLookup(entry, now)
  }

  readonly store = async (entry: NewEntry<StoredBytes>): Promise<void> => {
    const { key, tags, epochs, isLocal = false, lock } = entry
    const { contact, heartbeat } = this.#replica
    if (!isLocal && !contact.isTrusted) return
    let purges = this.#purges
    const local = toLocalEntry(entry, this.#replica.elapsed())
    // A stored entry is compared when it is read. Comparing it now only saves the memory of an outdated one.
    const known = isLocal || heartbeat.hasLease() ? this.#known.of(key, tags) : undefined
    const now = known ?? (isLocal ? undefined : await this.#epochs.read(key, tags))
    if (now === undefined || compareEpochs(epochs, now) !== 'same') return
    this.#local.put(key, local, now === known)
    if (isLocal) return
    if (!(await this.#entries.set(key, local, lock))) return
    let after: TagEpochs | undefined = epochs
    // A purge that came meanwhile may have removed the rows already.
    while (after !== undefined && purges !== this.#purges) {
      purges = this.#purges
      after = await this.#epochs.read(key, tags)
    }
    if (after !== undefined && compareEpochs(epochs, after) !== 'changed') this.#index.add(key, local)
  }

  readonly purge: CacheIndex['purge'] = async (what) => {
    const { keys, soft = false } = what
    // Rows that the purge of a tag or an endpoint has invalidated are left out when they are read.
    const hasRowsToRemove = !soft && what.tag === undefined && what.endpoint === undefined
    // A row has no epoch of its key. It is removed before other replicas receive the purge and list the index again, and
    // once more afterwards, since a fetch may have stored the response meanwhile.
    if (keys !== undefined && hasRowsToRemove) await this.#index.remove(what)
    const outcome = await this.#invalidator.invalidate(purgeTags(what), soft)
    if (hasRowsToRemove) {
      for (const key of keys ?? []) this.#local.delete(key)
      if (keys !== undefined) await this.#entries.delete(keys)
      await this.#index.remove(what)
    }
    this.#purges += 1
    return outcome
  }

  readonly state = (): CacheStoreState => ({ up: this.#replica.contact.isTrusted, local: this.#local.state })

  /** Writes the new rows and the counted hits. Fences of writes in progress are not renewed any more. */
  readonly close = async (): Promise<void> => {
    await this.#index.flush()
    for (const part of [this.#invalidator, this.#fetchLocks, this.#writeLocks, this.#index]) part.close()
    this.#local.clear()
  }
}
