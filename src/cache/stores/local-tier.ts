/**
 * The local tier (L1): entries in the memory of this process, bounded in bytes. The memory store consists of it. In front of
 * Redis, an entry is served only within the lease of the heartbeat, and while the known epochs are those of the entry.
 */
import { LRUCache } from 'lru-cache'
import type { Tag } from '../../contracts/endpoint.ts'
import type { EvictionReason, LocalState } from '../../core/cache.ts'
import type { TagEpochs } from '../../core/stored-response.ts'
import { compareEpochs, MAX_EVICTIONS } from './epochs.ts'
import { areEqual, hasOwnBytes, type LocalEntry, usualLifetime } from './local-entries.ts'

/** A use is noted once in this time: to note it costs a tenth of a hit. So the order of evictions is exact to a second. */
const USE_INTERVAL_MS = 1000

/** What entries are compared with. */
interface CurrentEpochs {
  /** Changes whenever epochs may have changed. A comparison that found them equal is valid as long as it is the same. */
  readonly version: number
  /** Returns the epochs of the tags and the key of an entry; undefined: one of them is unknown. */
  of(key: string, tags: readonly Tag[]): TagEpochs | undefined
  /** As `of`, without counting as a use. */
  peekOf(key: string, tags: readonly Tag[]): TagEpochs | undefined
}

interface LocalTierOptions {
  /** Called for each new entry. */
  readonly maxBytes: () => number
  /** Returns the milliseconds of a monotonic clock. */
  readonly elapsed: () => number
  readonly epochs: CurrentEpochs
  /** Called for each entry that is deleted, evicted or replaced. */
  readonly onRemove?: (key: string, entry: LocalEntry) => void
}

/** Entries that are searched for one that only an outage would use, for each entry that makes room. */
const MAX_SEARCHED = 64

/**
 * A map that evicts the least recently used entries beyond `maxBytes`, first those that only an outage would use. With 0
 * bytes it stores nothing.
 */
export class LocalTier {
  readonly #entries: LRUCache<string, LocalEntry>
  readonly #options: LocalTierOptions
  /** Whether entries are stored for longer than they are served while nodes answer. */
  #hasOutage = false
  readonly #evictions: Record<EvictionReason, number> = { limit: 0, expired: 0, invalidated: 0, replaced: 0 }

  constructor(options: LocalTierOptions) {
    this.#options = options
    this.#entries = new LRUCache<string, LocalEntry>({
      maxSize: Number.MAX_SAFE_INTEGER,
      sizeCalculation: sizeOf,
      dispose: (entry, key, how) => {
        if (how !== 'delete') this.#countEviction(key, entry, how === 'evict' ? 'limit' : 'replaced')
        options.onRemove?.(key, entry)
      },
    })
  }

  /** Returns the entry if it has not expired and its epochs are the current ones; undefined also if these are unknown. */
  find(key: string, tags: readonly Tag[], now: number): LocalEntry | undefined {
    const entry = this.entryOf(key, now)
    if (entry === undefined) return undefined
    if (now - (entry.usedAt ?? Number.NEGATIVE_INFINITY) >= USE_INTERVAL_MS) {
      entry.usedAt = now
      this.#entries.get(key)
    }
    return this.#ifCurrent(key, tags, entry)
  }

  /** As `find`, without counting as a use: the entry is not evicted later because of it. */
  peek(key: string, tags: readonly Tag[], now: number): LocalEntry | undefined {
    return this.#ifCurrent(key, tags, this.entryOf(key, now))
  }

  /** Returns the entry if it has not expired, whatever its epochs are. Does not count as a use. */
  entryOf(key: string, now = this.#options.elapsed()): LocalEntry | undefined {
    const entry = this.#entries.peek(key)
    if (entry === undefined || now < entry.expiresAt) return entry
    this.delete(key)
    return undefined
  }

  /** Returns whether the entry was stored: not if it is larger than the whole map. `isCurrent`: its epochs are the current ones. */
  put(key: string, entry: LocalEntry, isCurrent = false): boolean {
    const maxBytes = this.#options.maxBytes()
    if (sizeOf(entry, key) > maxBytes) {
      this.delete(key)
      return false
    }
    if (isCurrent) entry.comparedVersion = this.#options.epochs.version
    this.#entries.set(key, withOwnBytes(entry))
    this.#hasOutage ||= entry.stored.staleInOutage > 0
    for (let count = 0; this.#entries.calculatedSize > maxBytes && count < MAX_EVICTIONS; count++) this.#evict()
    return true
  }

  #evict(): void {
    const found = this.#findForOutage()
    if (found === undefined) return void this.#entries.pop()
    const [key, entry] = found
    this.#countEviction(key, entry, 'limit')
    this.#entries.delete(key)
  }

  /** Finds an entry that only an outage would use, among those that were not used for the longest time. */
  #findForOutage(): readonly [string, LocalEntry] | undefined {
    if (!this.#hasOutage) return undefined
    const now = this.#options.elapsed()
    let left = MAX_SEARCHED
    for (const key of this.#entries.rkeys()) {
      const entry = this.#entries.peek(key)
      if (entry !== undefined && now - entry.fetchedAt >= usualLifetime(entry.stored)) return [key, entry]
      left -= 1
      if (left === 0) break
    }
    return undefined
  }

  delete(key: string): void {
    const entry = this.#entries.peek(key)
    if (entry === undefined) return
    this.#countEviction(key, entry, 'replaced')
    this.#entries.delete(key)
  }

  /** Counts no evictions: the process ends. */
  clear(): void {
    this.#entries.clear()
  }

  get state(): LocalState {
    const { calculatedSize: bytes, size: entries } = this.#entries
    return { bytes, entries, limit: this.#options.maxBytes(), evictions: { ...this.#evictions } }
  }

  /** `reason`: if the entry could still be served. */
  #countEviction(key: string, entry: LocalEntry, reason: 'limit' | 'replaced'): void {
    const { elapsed, epochs } = this.#options
    const hasExpired = elapsed() >= entry.expiresAt
    const isCurrent =
      hasExpired || entry.comparedVersion === epochs.version || isSame(entry, epochs.peekOf(key, entry.tags))
    this.#evictions[hasExpired ? 'expired' : isCurrent ? reason : 'invalidated'] += 1
  }

  /** After a soft invalidation, the entry is not current: Redis may have a newer one. */
  #ifCurrent(key: string, tags: readonly Tag[], entry: LocalEntry | undefined): LocalEntry | undefined {
    if (entry === undefined || !areEqual(entry.tags, tags)) return undefined
    const { epochs } = this.#options
    const { version } = epochs
    if (entry.comparedVersion === version) return entry
    if (!isSame(entry, epochs.of(key, tags))) return undefined
    entry.comparedVersion = version
    return entry
  }
}

function isSame(entry: LocalEntry, now: TagEpochs | undefined): boolean {
  return now !== undefined && compareEpochs(entry, now) === 'same'
}

/** A short body is often a view of a larger buffer (Node's pool), which it would keep in memory. */
function withOwnBytes(entry: LocalEntry): LocalEntry {
  const { body } = entry.stored
  if (hasOwnBytes(body)) return entry
  const own = Buffer.allocUnsafeSlow(body.length)
  body.copy(own)
  return { ...entry, stored: { ...entry.stored, body: own } }
}

/** About what an entry costs in memory besides its body: objects, strings, its place in the map. */
const OVERHEAD_BYTES = 512

function sizeOf({ info, epochs, stored }: LocalEntry, key: string): number {
  return stored.body.length + (info?.url.length ?? 0) + key.length + 32 * epochs.length + OVERHEAD_BYTES
}
