/** The store of a single process: the same contract as the store over Redis, but it is never unavailable. */
import type { Tag } from '../../catalogue/endpoint.ts'
import type {
  CacheStoreState,
  IndexEntry,
  IndexPage,
  IndexWindow,
  PurgeOutcome,
  PurgeScope,
} from '../../core/cache-index.ts'
import type { CacheIndex, Lookup, TagEpochs } from '../../core/response.ts'
import { WRITE_FENCE_LEASE_MS } from '../../core/timing.ts'
import { waitForTurn } from '../../core/turns.ts'
import type { CacheStore, FetchLock, NewStoredResponse, WriteFence } from './contract.ts'
import { compareEpochs, EpochTable, purgeTags } from './epochs.ts'
import {
  areEqual,
  LocalEntries,
  type LocalEntry,
  localLifetime,
  localLookup,
  storedBytes,
  toLocalEntry,
  toStoredResponse,
} from './local-entries.ts'

export interface MemoryStoreOptions {
  /** Bytes beyond which the least recently used entries are evicted. */
  readonly bytes: () => number
  /** Milliseconds that a fence remains after `keepUntilLeaseEnds` (default 240 s). */
  readonly fenceLease?: number
  /** Returns the milliseconds of a monotonic clock. */
  readonly elapsed?: () => number
}

export type MemoryStore = CacheStore & CacheIndex & { state(): CacheStoreState; close(): Promise<void> }

export function createMemoryStore(options: MemoryStoreOptions): MemoryStore {
  const cache = new MemoryCache(options)
  return {
    lookup: (key, tags) => cache.lookup(key, tags),
    lookupLocal: (key, tags) => cache.lookup(key, tags),
    peek: async (key, tags) => cache.peek(key, tags),
    store: async (entry) => cache.store(entry),
    acquireFetchLock: async (key, epochs) => cache.acquireFetchLock(key, epochs),
    fence: async (tags) => cache.fence(tags),
    list: async (group, onProgress) => cache.list(group, onProgress),
    count: async () => cache.count(),
    page: async (window) => cache.page(window),
    find: async (key) => cache.find(key),
    purge: (what) => cache.purge(what),
    purgeCount: () => cache.purgeCount,
    state: () => cache.state,
    close: async () => cache.close(),
  }
}

/** Entries that are listed or removed between two turns of the event loop. */
const ENTRIES_PER_PART = 1000

class MemoryCache {
  purgeCount = 0
  readonly #elapsed: () => number
  readonly #fenceLease: number
  readonly #entries: LocalEntries
  readonly #epochs: EpochTable
  readonly #locks = new Map<string, Promise<void>>()
  /** The keys of each group, in the order in which they were stored. */
  readonly #keysByGroup = new Map<string, Set<string>>()

  constructor(options: MemoryStoreOptions) {
    const { fenceLease = WRITE_FENCE_LEASE_MS, elapsed = () => performance.now() } = options
    this.#elapsed = elapsed
    this.#fenceLease = fenceLease
    const epochs = new EpochTable(elapsed)
    this.#epochs = epochs
    this.#entries = new LocalEntries({
      maxBytes: options.bytes,
      elapsed,
      isOutdated: (key, entry) => compareEpochs(entry, epochs.read(key, entry.tags)) !== 'same',
      onRemove: (key, { info }) => this.#keysByGroup.get(info.group)?.delete(key),
    })
  }

  lookup(key: string, tags: readonly Tag[]): Lookup {
    const entry = this.#entries.get(key)
    const lookup = this.#compare(key, tags, entry)
    if (entry !== undefined && lookup.kind === 'hit') entry.hits = (entry.hits ?? 0) + 1
    return lookup
  }

  peek(key: string, tags: readonly Tag[]): Lookup {
    return this.#compare(key, tags, this.#entries.peek(key))
  }

  store(entry: NewStoredResponse): void {
    const now = this.#epochs.read(entry.key, entry.tags)
    if (compareEpochs(entry.epochs, now) !== 'same') return
    if (this.#entries.set(entry.key, toLocalEntry(entry, this.#elapsed()))) this.#addKey(entry.key, entry.info.group)
  }

  #addKey(key: string, group: string): void {
    const keys = this.#keysByGroup.get(group)
    if (keys === undefined) this.#keysByGroup.set(group, new Set([key]))
    else keys.add(key)
  }

  acquireFetchLock(key: string, { generation, epochs }: TagEpochs): FetchLock {
    const name = JSON.stringify([key, generation, ...epochs])
    const settled = this.#locks.get(name)
    if (settled !== undefined) return { held: false, settled }
    let settle = () => {}
    const lock = new Promise<void>((resolve) => {
      settle = resolve
    })
    this.#locks.set(name, lock)
    return {
      held: true,
      release: async () => {
        // A second release must not remove the lock of the next holder.
        if (this.#locks.get(name) === lock) this.#locks.delete(name)
        settle()
      },
    }
  }

  fence(tags: readonly Tag[]): WriteFence {
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

  /** Yields to the event loop regularly: there may be many entries. */
  async list(group?: string, onProgress?: (entries: readonly IndexEntry[]) => void): Promise<IndexEntry[]> {
    const listed: IndexEntry[] = []
    let seen = 0
    for (const keys of this.#groups(group).values()) {
      for (const key of [...keys]) {
        seen += 1
        if (seen % ENTRIES_PER_PART === 0) {
          onProgress?.(listed)
          await waitForTurn()
        }
        const row = this.#rowOf(key)
        if (row !== undefined) listed.push(row)
      }
    }
    return listed
  }

  count(): ReadonlyMap<string, number> {
    return new Map([...this.#groups()].map(([group, keys]) => [group, keys.size]))
  }

  page({ group, offset, limit }: IndexWindow): IndexPage {
    const rows: IndexEntry[] = []
    const groups = [...this.#groups(group).values()]
    let skip = offset
    for (const keys of groups) {
      if (skip >= keys.size) {
        skip -= keys.size
        continue
      }
      for (const key of keys) {
        if (rows.length >= limit) break
        if (skip > 0) skip -= 1
        else {
          const row = this.#rowOf(key)
          if (row !== undefined) rows.push(row)
        }
      }
    }
    // Rows that were found outdated are removed by now.
    return { rows, total: groups.reduce((sum, { size }) => sum + size, 0) }
  }

  find(key: string): IndexEntry | undefined {
    return this.#rowOf(key)
  }

  /** The keys by group, in the order of the groups' names; without a group, of all groups. */
  #groups(group?: string): ReadonlyMap<string, ReadonlySet<string>> {
    const groups = [...this.#keysByGroup].filter(([name, { size }]) => size > 0 && (group ?? name) === name)
    return new Map(groups.sort(([a], [b]) => (a < b ? -1 : 1)))
  }

  /** Removes an entry that has expired or that a write has invalidated: it is never served again. */
  #rowOf(key: string): IndexEntry | undefined {
    const entry = this.#entries.peek(key)
    if (entry === undefined) return undefined
    const { info, tags, fetchedAt, response } = entry
    if (compareEpochs(entry, this.#epochs.read(key, tags)) === 'changed') {
      this.#entries.delete(key)
      return undefined
    }
    const age = this.#elapsed() - fetchedAt
    const [size, timeLeft] = [storedBytes(response), localLifetime(response) - age]
    return { key, ...info, size, age, timeLeft, hits: entry.hits ?? 0, fetchTime: response.fetchTime }
  }

  /** Invalidates first, so that nothing is served while the entries are removed. */
  async purge(what: PurgeScope): Promise<PurgeOutcome> {
    const { group, keys, soft = false } = what
    this.purgeCount += 1
    this.#epochs.bump(purgeTags(what), soft)
    if (!soft) await this.#removePurged(group, keys)
    return 'done'
  }

  async #removePurged(group: string | undefined, keys: readonly string[] | undefined): Promise<void> {
    for (const key of keys ?? []) this.#entries.delete(key)
    if (keys !== undefined) return
    const purged = [...this.#groups(group).values()].flatMap((keys) => [...keys])
    for (const [at, name] of purged.entries()) {
      // An entry that was stored meanwhile is newer than the purge.
      this.#rowOf(name)
      if ((at + 1) % ENTRIES_PER_PART === 0) await waitForTurn()
    }
  }

  get state(): CacheStoreState {
    return { up: true, local: this.#entries.state }
  }

  close(): void {
    this.#entries.clear()
  }

  #compare(key: string, tags: readonly Tag[], entry: LocalEntry | undefined): Lookup {
    const { version } = this.#epochs
    const now = this.#elapsed()
    if (entry?.comparedVersion === version && areEqual(entry.tags, tags)) return localLookup(entry, now)
    const epochs = this.#epochs.read(key, tags)
    if (entry === undefined) return { kind: 'miss', epochs, changed: false }
    const comparison = compareEpochs(entry, epochs)
    if (comparison === 'changed') return { kind: 'miss', epochs, changed: true }
    if (comparison === 'same') entry.comparedVersion = version
    return { kind: 'hit', epochs, response: toStoredResponse(entry, now, comparison === 'stale'), isLocal: true }
  }
}
