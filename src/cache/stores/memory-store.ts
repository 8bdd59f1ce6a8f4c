/** The store of a single process: the same contract as the store over Redis, but it is never unavailable. */

import type { Tag } from '../../contracts/endpoint.ts'
import type { CacheStoreState } from '../../core/cache.ts'
import type { IndexEntry } from '../../core/cache-entries.ts'
import type { CacheIndex } from '../../core/cache-index.ts'
import { inTurns } from '../../core/long-lists.ts'
import type { Lookup, StoredBytes } from '../../core/stored-response.ts'
import { systemClock, WRITE_FENCE_LEASE_MS } from '../../core/timing.ts'
import type { CacheStore, EpochStore, NewEntry } from './contract.ts'
import { EpochTable } from './epoch-table.ts'
import { compareEpochs, purgeTags } from './epochs.ts'
import { localLookup, lookupAt, measuresOf, toLocalEntry } from './local-entries.ts'
import { LocalTier } from './local-tier.ts'
import { MemoryLocks } from './memory-locks.ts'

interface MemoryStoreOptions {
  /** Bytes beyond which the least recently used entries are evicted. */
  readonly bytes: () => number
  /** Milliseconds that a fence remains after `keepUntilLeaseEnds` (default 240 s). */
  readonly fenceLease?: number
  /** Returns the milliseconds of a monotonic clock. */
  readonly elapsed?: () => number
}

export type MemoryStore = Pick<MemoryCache, keyof MemoryCache>

export function createMemoryStore(options: MemoryStoreOptions): MemoryStore {
  return new MemoryCache(options)
}

/** Its public functions are no methods, because callers pass single ones on. */
class MemoryCache implements CacheStore, CacheIndex, EpochStore {
  readonly #elapsed: () => number
  readonly #fenceLease: number
  readonly #entries: LocalTier
  readonly #epochs: EpochTable
  readonly #locks = new MemoryLocks()
  /** The keys of each group, in the order in which they were stored. */
  readonly #keysByGroup = new Map<string, Set<string>>()
  #purges = 0

  constructor({ bytes, fenceLease = WRITE_FENCE_LEASE_MS, elapsed = systemClock.elapsed }: MemoryStoreOptions) {
    this.#elapsed = elapsed
    this.#fenceLease = fenceLease
    this.#epochs = new EpochTable(elapsed)
    this.#entries = new LocalTier({
      maxBytes: bytes,
      elapsed,
      epochs: this.#epochs,
      onRemove: (key, { info }) => this.#keysByGroup.get(info?.group ?? '')?.delete(key),
    })
  }

  readonly lookup = (key: string, tags: readonly Tag[]): Lookup => {
    const now = this.#elapsed()
    const entry = this.#entries.find(key, tags, now)
    if (entry === undefined) return this.#lookUpOutdated(key, tags, now, 1)
    entry.hits = (entry.hits ?? 0) + 1
    return localLookup(entry, now)
  }

  readonly lookupLocal = this.lookup

  readonly peek: CacheIndex['peek'] = async (key, tags) => {
    const now = this.#elapsed()
    const entry = this.#entries.peek(key, tags, now)
    return entry === undefined ? this.#lookUpOutdated(key, tags, now, 0) : localLookup(entry, now)
  }

  readonly store = (entry: NewEntry<StoredBytes>): Promise<void> | undefined => {
    const { key, tags, info } = entry
    const isCurrent = compareEpochs(entry.epochs, this.#epochs.of(key, tags)) === 'same'
    const isStored = isCurrent && this.#entries.put(key, toLocalEntry(entry, this.#elapsed()), true)
    if (isStored && info !== undefined) {
      const keys = this.#keysByGroup.get(info.group) ?? new Set()
      this.#keysByGroup.set(info.group, keys.add(key))
    }
    return undefined
  }

  readonly acquireFetchLock: CacheStore['acquireFetchLock'] = (key, { epochs }, _lease, presence) => {
    const lock = this.#locks.acquire(`${key} ${epochs.join(' ')}`, presence)
    return lock.held ? { isMissing: this.#entries.entryOf(key) === undefined, ...lock } : lock
  }

  readonly fence: CacheStore['fence'] = async (tags) => {
    const fence = Symbol('write')
    this.#epochs.bump(tags)
    this.#epochs.addFence(fence, tags, Number.POSITIVE_INFINITY)
    return {
      state: 'active',
      lift: async (more) => {
        this.#epochs.bump([...tags, ...more])
        this.#epochs.removeFence(fence, tags)
        return true
      },
      keepUntilLeaseEnds: () => this.#epochs.addFence(fence, tags, this.#fenceLease),
    }
  }

  readonly list: CacheIndex['list'] = async (group, onProgress) => {
    const listed: IndexEntry[] = []
    for (const keys of this.#groups(group).values()) {
      for await (const part of inTurns([...keys])) {
        onProgress?.(listed)
        listed.push(...part.flatMap((key) => this.#rowOf(key) ?? []))
      }
    }
    return listed
  }

  readonly count: CacheIndex['count'] = async () =>
    new Map([...this.#groups()].map(([group, keys]) => [group, keys.size]))

  readonly page: CacheIndex['page'] = async ({ group, offset, limit }) => {
    const rows: IndexEntry[] = []
    const groups = [...this.#groups(group).values()]
    let at = 0
    // Without a list of all keys: a page costs as much as its rows.
    for (const keys of groups) {
      for (const key of keys) {
        if (rows.length >= limit) break
        const row = at++ < offset ? undefined : this.#rowOf(key)
        if (row !== undefined) rows.push(row)
      }
    }
    // Rows that were found outdated are removed by now.
    return { rows, total: groups.reduce((sum, { size }) => sum + size, 0) }
  }

  readonly find: CacheIndex['find'] = async (key) => this.#rowOf(key)

  /** Invalidates first, so that nothing is served while the entries are removed. */
  readonly purge: CacheIndex['purge'] = async (what) => {
    const { group, keys, soft = false } = what
    this.#purges += 1
    this.#epochs.bump(purgeTags(what), soft)
    if (!soft) await this.#removePurged(group, keys)
    return 'done'
  }

  readonly purgeCount = (): number => this.#purges

  readonly state = (): CacheStoreState => ({ up: true, local: this.#entries.state })

  readonly close = async (): Promise<void> => this.#entries.clear()

  /** The keys by group, in the order of the groups' names; without a group, of all groups. */
  #groups(group?: string): ReadonlyMap<string, ReadonlySet<string>> {
    const groups = [...this.#keysByGroup].filter(([name, { size }]) => size > 0 && (group ?? name) === name)
    return new Map(groups.sort(([a], [b]) => (a < b ? -1 : 1)))
  }

  /** Removes an entry that has expired or that a write has invalidated: it is never served again. */
  #rowOf(key: string): IndexEntry | undefined {
    const entry = this.#entries.entryOf(key)
    if (entry?.info === undefined) return undefined
    const { info, tags, fetchedAt } = entry
    if (compareEpochs(entry, this.#epochs.of(key, tags)) === 'changed') {
      this.#entries.delete(key)
      return undefined
    }
    const age = this.#elapsed() - fetchedAt
    const { lifetime, ...measures } = measuresOf(entry)
    return { key, ...info, ...measures, age, timeLeft: lifetime - age, hits: entry.hits ?? 0 }
  }

  async #removePurged(group: string | undefined, keys: readonly string[] | undefined): Promise<void> {
    for (const key of keys ?? []) this.#entries.delete(key)
    if (keys !== undefined) return
    const purged = [...this.#groups(group).values()].flatMap((keys) => [...keys])
    // An entry that was stored meanwhile is newer than the purge.
    for await (const part of inTurns(purged)) for (const key of part) this.#rowOf(key)
  }

  /** Looks up what may have been invalidated softly. `hits`: how many to count if it is served. */
  #lookUpOutdated(key: string, tags: readonly Tag[], now: number, hits: number): Lookup {
    const entry = this.#entries.entryOf(key, now)
    const lookup = lookupAt(entry, this.#epochs.of(key, tags), now, true)
    if (entry !== undefined && lookup.kind === 'hit') entry.hits = (entry.hits ?? 0) + hits
    return lookup
  }
}
