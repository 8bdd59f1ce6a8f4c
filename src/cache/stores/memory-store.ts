/** The store of a single process: the same contract as the store over Redis, but it is never unavailable. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Tag } from '../../catalogue/endpoint.ts'
import type { CacheIndex, CacheStoreState, IndexEntry, Lookup, TagEpochs } from '../../core/response.ts'
import { WRITE_FENCE_LEASE_MS } from '../../core/timing.ts'
import type { CacheStore, FetchLock, NewStoredResponse, WriteFence } from './contract.ts'
import { compareEpochs, EpochTable, keyTag, readTimeOf } from './epochs.ts'
import { LocalEntries, type LocalEntry, storageLifetime, toLocalEntry, toStoredResponse } from './local-entries.ts'

export interface MemoryStoreOptions {
  /** Bytes beyond which the least recently used entries are evicted. */
  readonly bytes: number
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
    peek: async (key, tags) => cache.peek(key, tags),
    store: async (entry) => cache.store(entry),
    acquireFetchLock: async (key, epochs) => cache.acquireFetchLock(key, epochs),
    fence: async (tags) => cache.fence(tags),
    list: async (group, onProgress) => cache.list(group, onProgress),
    purge: async (what) => cache.purge(what),
    state: () => cache.state,
    close: async () => cache.close(),
  }
}

/** Entries that are listed between two turns of the event loop. */
const ENTRIES_PER_TURN = 1000

class MemoryCache {
  readonly #elapsed: () => number
  readonly #fenceLease: number
  readonly #entries: LocalEntries
  readonly #epochs: EpochTable
  readonly #hits = new WeakMap<LocalEntry, number>()
  readonly #locks = new Map<string, Promise<void>>()

  constructor({ bytes, fenceLease = WRITE_FENCE_LEASE_MS, elapsed = () => performance.now() }: MemoryStoreOptions) {
    this.#elapsed = elapsed
    this.#fenceLease = fenceLease
    this.#entries = new LocalEntries(bytes, elapsed)
    this.#epochs = new EpochTable(elapsed)
  }

  lookup(key: string, tags: readonly Tag[]): Lookup {
    const entry = this.#entries.get(key)
    const lookup = this.#compare(key, tags, entry)
    if (entry !== undefined && lookup.kind === 'hit') this.#hits.set(entry, (this.#hits.get(entry) ?? 0) + 1)
    return lookup
  }

  peek(key: string, tags: readonly Tag[]): Lookup {
    return this.#compare(key, tags, this.#entries.peek(key))
  }

  store(entry: NewStoredResponse): void {
    const now = this.#epochs.read(entry.key, entry.tags)
    if (compareEpochs(entry.epochs, now) !== 'same') return
    const fetchStart = readTimeOf(entry.epochs) ?? this.#elapsed() - entry.response.fetchTime
    this.#entries.set(entry.key, toLocalEntry(entry, fetchStart))
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
      },
      keepUntilLeaseEnds: () => this.#epochs.addFence(fence, tags, this.#fenceLease),
    }
  }

  /** Yields to the event loop regularly: there may be many entries. */
  async list(group?: string, onProgress?: (entries: readonly IndexEntry[]) => void): Promise<IndexEntry[]> {
    const listed: IndexEntry[] = []
    let seen = 0
    for (const [key, entry] of this.#entries.all()) {
      seen += 1
      if (seen % ENTRIES_PER_TURN === 0) {
        onProgress?.(listed)
        await nextTurn()
      }
      const { info, tags, fetchedAt, response } = entry
      if (group !== undefined && info.group !== group) continue
      if (compareEpochs(entry, this.#epochs.read(key, tags)) === 'changed') continue
      const age = this.#elapsed() - fetchedAt
      const timeLeft = storageLifetime(response) - age
      const hits = this.#hits.get(entry) ?? 0
      listed.push({ ...info, key, size: response.body.length, age, timeLeft, hits, fetchTime: response.fetchTime })
    }
    return listed
  }

  purge({ group, key, soft = false }: { group?: string; key?: string; soft?: boolean }): void {
    this.#epochs.bump([key !== undefined ? keyTag(key) : group !== undefined ? `cache:${group}` : 'cache'], soft)
    if (soft) return
    for (const [name, { info }] of key === undefined ? this.#entries.all() : []) {
      if (group === undefined || info.group === group) this.#entries.delete(name)
    }
    if (key !== undefined) this.#entries.delete(key)
  }

  get state(): CacheStoreState {
    return { up: true, local: { bytes: this.#entries.bytes, entries: this.#entries.count } }
  }

  close(): void {
    this.#entries.clear()
  }

  #compare(key: string, tags: readonly Tag[], entry: LocalEntry | undefined): Lookup {
    const epochs = this.#epochs.read(key, tags)
    if (entry === undefined) return { kind: 'miss', epochs, changed: false }
    const comparison = compareEpochs(entry, epochs)
    if (comparison === 'changed') return { kind: 'miss', epochs, changed: true }
    const response = toStoredResponse(entry, this.#elapsed(), comparison === 'stale')
    return { kind: 'hit', epochs, response, isLocal: true }
  }
}
