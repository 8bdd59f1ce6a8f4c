/**
 * Replays recorded reads: what the cache would have done with them under other settings. The model has the rules of the
 * cache for freshness, versions, stale responses during a refresh, refreshes ahead of expiry, shared fetches and the size
 * of the local tier. It does not have failures of nodes, and every refresh ahead finds idle capacity.
 */
import { LRUCache } from 'lru-cache'
import type { RecordedRead, Replay, ReplayCounts, ReplaySettings } from '../core/cache.ts'
import { inTurns } from '../core/turns.ts'
import { type CompiledPolicy, type FreshnessLifetimes, staleTimesOf } from './policy.ts'
import { isCounted, MIN_HITS, refreshWindow } from './refresh-ahead.ts'
import { TYPICAL_ENTRY_BYTES } from './stores/local-entries.ts'

export interface ReplayPorts {
  /** Returns the policy of an endpoint by its route; undefined: its responses are not stored. */
  policyOf(route: string): CompiledPolicy | undefined
  readonly staleOf: (policy: CompiledPolicy) => Omit<FreshnessLifetimes, 'ttl'>
  /** What the local tier has evicted is still in Redis. */
  readonly hasRedis: boolean
}

export function createReplay(ports: ReplayPorts): Replay {
  return async (reads, settings) => {
    const model = new CacheModel(ports, settings)
    for await (const part of inTurns(reads)) for (const read of part) model.read(read)
    const { routes, localHits, evictions } = model
    return { routes, localHits, evictions }
  }
}

/** A response that is stored, or on its way. */
interface Copy {
  readonly arrivesAt: number
  readonly version: number
  readonly fetchTime: number
}

interface Entry {
  stored?: Copy | undefined
  /** The fetch in progress. */
  pending?: Copy | undefined
  /** Hits in the second half of this lifetime and of the one before. */
  hits: number
  previousHits: number
}

class CacheModel {
  readonly routes = new Map<string, ReplayCounts>()
  localHits = 0
  evictions = 0
  /** The sizes of the responses in the local tier: the least recently used ones are evicted first. */
  readonly #local: LRUCache<number, number>
  readonly #entries = new Map<number, Entry>()
  readonly #ports: ReplayPorts
  readonly #settings: ReplaySettings

  constructor(ports: ReplayPorts, settings: ReplaySettings) {
    this.#ports = ports
    this.#settings = settings
    this.#local = new LRUCache<number, number>({
      // The smallest allowed one has no room for any response.
      maxSize: Math.max(1, Math.floor(settings.localBytes)),
      sizeCalculation: (bytes) => bytes,
      dispose: (_bytes, _key, how) => {
        if (how === 'evict') this.evictions += 1
      },
    })
  }

  read(read: RecordedRead): void {
    const { group, route, reads, at } = read
    const counts = this.#countsOf(route)
    const ttl = this.#settings.ttlOf(group, route)
    counts.reads += reads
    if (ttl <= 0) {
      counts.fetches += Math.max(1, reads)
      return
    }
    const isFirst = !this.#entries.has(read.key)
    const entry = this.#entryOf(read)
    settle(entry, at)
    if (read.isForced) {
      this.#fetch(entry, read, counts)
      return
    }
    // What was stored when the recording began is taken as present.
    const isLocal = this.#useLocal(read) || isFirst
    if (!isLocal && !this.#ports.hasRedis) entry.stored = undefined
    if (this.#serve(entry, read, { counts, ttl })) {
      if (isLocal) this.localHits += reads
      return
    }
    // The first of these reads fetches, or shares a fetch; the others follow shortly after its response.
    if (entry.pending?.version !== read.version) this.#fetch(entry, read, counts)
    counts.hits += Math.max(0, reads - 1)
  }

  /** Returns whether the response was local. It is afterwards, unless it is larger than the whole tier. */
  #useLocal({ key, bytes }: RecordedRead): boolean {
    const isKnown = this.#local.has(key)
    this.#local.set(key, bytes + TYPICAL_ENTRY_BYTES)
    return isKnown && this.#local.has(key)
  }

  /** Returns whether the read is answered from the cache. */
  #serve(entry: Entry, read: RecordedRead, { counts, ttl }: { counts: ReplayCounts; ttl: number }): boolean {
    const { stored } = entry
    if (stored === undefined || stored.version !== read.version) return false
    const { fetchTime } = stored
    const age = read.at - stored.arrivesAt + fetchTime
    const freshness = { age, ttl: ttl + fetchTime, fetchTime }
    const isFresh = age < freshness.ttl
    if (!isFresh && age >= freshness.ttl + this.#staleTime(read.route, ttl, entry, fetchTime)) return false
    counts.hits += read.reads
    counts.ages += age * read.reads
    if (isFresh && isCounted(freshness)) entry.hits += Math.max(1, read.reads)
    const isDue = !isFresh || (freshness.ttl - age <= refreshWindow(freshness) && isHot(entry))
    if (isDue && entry.pending === undefined) this.#fetch(entry, read, counts)
    return true
  }

  #staleTime(route: string, ttl: number, entry: Entry, fetchTime: number): number {
    const policy = this.#ports.policyOf(route)
    if (policy === undefined) return 0
    const times = staleTimesOf(policy, { ...this.#ports.staleOf(policy), ttl }, fetchTime)
    return (entry.hits >= MIN_HITS ? times.staleWhileHot : undefined) ?? times.staleWhileRevalidate
  }

  #fetch(entry: Entry, { at, version, fetchTime }: RecordedRead, counts: ReplayCounts): void {
    counts.fetches += 1
    entry.pending = { arrivesAt: at + fetchTime, version, fetchTime }
  }

  /** The first read of a response shows what was stored when the recording began. */
  #entryOf({ key, arrivedAt, version, fetchTime }: RecordedRead): Entry {
    const known = this.#entries.get(key)
    if (known !== undefined) return known
    const entry: Entry = { hits: 0, previousHits: 0 }
    if (arrivedAt !== undefined) entry.stored = { arrivesAt: arrivedAt, version, fetchTime }
    this.#entries.set(key, entry)
    return entry
  }

  #countsOf(route: string): ReplayCounts {
    const known = this.routes.get(route)
    if (known !== undefined) return known
    const counts = { reads: 0, hits: 0, fetches: 0, ages: 0 }
    this.routes.set(route, counts)
    return counts
  }
}

function isHot({ hits, previousHits }: Entry): boolean {
  return hits >= MIN_HITS || previousHits >= MIN_HITS
}

/** Puts the response of a fetch in its place, as soon as it has arrived. */
function settle(entry: Entry, at: number): void {
  const { pending } = entry
  if (pending === undefined || pending.arrivesAt > at) return
  entry.stored = pending
  entry.pending = undefined
  entry.previousHits = entry.hits
  entry.hits = 0
}
