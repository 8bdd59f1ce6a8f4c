/**
 * The local tier (L1): entries in the memory of this process, bounded in bytes. The memory store consists of it. In front of
 * Redis, an entry is served only within the lease of the heartbeat, and while the known epochs are those of the entry.
 */
import { LRUCache } from 'lru-cache'
import type { Tag } from '../../contracts/endpoint.ts'
import type { EvictionReason, LocalState, StoredResponseInfo } from '../../core/cache.ts'
import type { Hit, Lookup, StoredBytes, StoredRead, StoredTimes, TagEpochs } from '../../core/response.ts'
import type { NewEntry } from './contract.ts'
import { compareEpochs, MAX_EVICTIONS } from './epochs.ts'

export interface LocalEntry {
  readonly stored: StoredBytes
  readonly generation: string
  readonly epochs: readonly string[]
  readonly tags: readonly Tag[]
  /** Absent: it is not listed. */
  readonly info?: StoredResponseInfo
  /** When its fetch (that of its oldest part) began, in milliseconds of this process' monotonic clock. */
  readonly fetchedAt: number
  /** Until when it may be served at all, by the same clock. */
  readonly expiresAt: number
  /** When it was noted last that it is in use. */
  usedAt?: number
  /** The version of the current epochs when they were last found equal to those of the entry. */
  comparedVersion?: number
  /** The memory store: the hits of this copy. */
  hits?: number
}

/** The stale times of a response, in milliseconds after its freshness lifetime. */
export type StaleTimes = Omit<StoredTimes, 'ttl'>

/**
 * Returns the milliseconds after the freshness lifetime for which a response may be served stale; 0: it never is, or only
 * while it is hot, in an outage, or while Redis is unreachable.
 */
export function staleBound({ staleWhileRevalidate, staleIfError }: StaleTimes): number {
  return Math.max(staleWhileRevalidate, staleIfError)
}

/** Returns the milliseconds after the fetch for which a response may be served at all, fresh or stale. */
export function storageLifetime(times: StoredTimes): number {
  return Math.max(usualLifetime(times), times.ttl + times.staleInOutage)
}

/** Returns the same while some node answers. */
export function usualLifetime(times: StoredTimes): number {
  return times.ttl + Math.max(staleBound(times) + times.staleWhileHot, times.staleWithoutRedis)
}

/** What is under the key of a read. Lookups of a `BytesKey` read only what all kinds have. */
function readIn({ stored }: LocalEntry): StoredRead {
  return stored as StoredRead
}

/** Returns what the index lists of an entry, in bytes and milliseconds. */
export function measuresOf(entry: LocalEntry) {
  const stored = readIn(entry)
  const size = stored.body.length + (stored.kind === 'snapshot' ? stored.rowBytes : 0)
  return { size, fetchTime: stored.fetchTime, lifetime: storageLifetime(stored) }
}

/** A fetch began when its epochs were read, by the clock of the store. `now`: by the same clock. */
export function toLocalEntry(entry: NewEntry<StoredBytes>, now: number): LocalEntry {
  const { generation, epochs, readAt = now } = entry.epochs
  const { tags, stored, info, initialAge = 0 } = entry
  const fetchedAt = readAt - initialAge
  const expiresAt = fetchedAt + storageLifetime(stored)
  return { stored, generation, epochs, tags, ...(info && { info }), fetchedAt, expiresAt }
}

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
    if (entry !== undefined && now - (entry.usedAt ?? Number.NEGATIVE_INFINITY) >= USE_INTERVAL_MS) {
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

  /** Returns whether the entry was stored. One that is larger than the whole map is not. */
  put(key: string, entry: LocalEntry): boolean {
    const maxBytes = this.#options.maxBytes()
    if (sizeOf(entry, key) > maxBytes) {
      this.delete(key)
      return false
    }
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
    const isCurrent = hasExpired || isSame(entry, epochs.peekOf(key, entry.tags))
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

/** The memory behind a body may be this many times its length. */
const MAX_BUFFER_RATIO = 1.125

/** Whether the bytes are all of the memory that they keep, or nearly all. */
export function hasOwnBytes(body: Buffer): boolean {
  return body.buffer.byteLength <= body.length * MAX_BUFFER_RATIO
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

/** Returns the hit of an entry whose epochs are the current ones. */
export function localLookup(entry: LocalEntry, now: number): Hit {
  const { generation, epochs, fetchedAt } = entry
  return {
    kind: 'hit',
    epochs: { generation, epochs, fenced: false, readAt: now },
    response: entry.stored as StoredRead,
    age: Math.max(0, now - fetchedAt),
    isLocal: true,
  }
}

/**
 * Returns what a lookup finds. After a soft invalidation, the freshness lifetime ends before the age, and the response may be
 * served during a refresh until its stale bound, if it has one. `epochs`: the current ones.
 */
export function lookupAt(entry: LocalEntry | undefined, epochs: TagEpochs, now: number, isLocal: boolean): Lookup {
  const comparison = entry && compareEpochs(entry, epochs)
  if (entry === undefined || comparison === 'changed') return { kind: 'miss', epochs, changed: entry !== undefined }
  const response = readIn(entry)
  const age = Math.max(0, now - entry.fetchedAt)
  if (comparison === 'same') return { kind: 'hit', epochs, response, age, isLocal }
  const ttl = Math.min(response.ttl, age - 1)
  const staleWhileRevalidate = staleBound(response) > 0 ? response.ttl + staleBound(response) - ttl : 0
  return { kind: 'hit', epochs, response: { ...response, ttl, staleWhileRevalidate, staleWhileHot: 0 }, age, isLocal }
}

export function areEqual(some: readonly Tag[], others: readonly Tag[]): boolean {
  if (some === others) return true
  if (some.length !== others.length) return false
  for (let at = 0; at < some.length; at += 1) if (some[at] !== others[at]) return false
  return true
}
