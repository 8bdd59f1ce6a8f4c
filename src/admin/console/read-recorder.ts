/**
 * The reads of the last minutes, for replays with other settings, and how often hits differed from the current response of
 * the nodes. Bounded: hits of the same response shortly after each other
 * are one record, and in a minute with too many records, those of a part of the stored responses stay, chosen by their keys,
 * so that all reads of a response are there or none.
 */

import type { RecordedRead } from '../../core/cache.ts'
import type { CacheEvent, EventListeners, RequestEvent } from '../../core/events.ts'
import { growingLru } from '../../core/recently-used.ts'

/** What really happened with the reads of an endpoint. */
export interface ObservedReads {
  readonly group: string
  reads: number
  hits: number
  /** Fetches of this replica. */
  fetches: number
  /** Fetches of other replicas, seen by the age of what they stored, of the recorded part of the responses. */
  elsewhere: number
}

/** How often hits of an endpoint differed from a fresh response of the nodes, since the start. */
export interface Divergence {
  readonly group: string
  /** The route template. */
  readonly route: string
  compared: number
  different: number
  /** The ages of all compared hits together, in milliseconds. */
  ages: number
}

export interface RecordedMinutes {
  /** The time that the records cover, in milliseconds. */
  readonly time: number
  /** The recorded part of the stored responses, 0 to 1. */
  readonly share: number
  /** In the order of their times. */
  readonly reads: readonly RecordedRead[]
  /** By route. */
  readonly observed: ReadonlyMap<string, ObservedReads>
}

interface RecorderOptions {
  /** Returns the freshness lifetime of an endpoint now, in milliseconds. */
  readonly ttlOf: (group: string, route: string) => number
  /** Milliseconds since 1970. */
  readonly now?: () => number
}

const MINUTE_MS = 60_000
const MINUTES = 10
export const MAX_RECORDS_PER_MINUTE = 3000
/** Not each response has records: those that are computed from one snapshot share its records. */
const MAX_KNOWN = MINUTES * MAX_RECORDS_PER_MINUTE
/** Hits of the same response within this time are one record: the time is short compared with every lifetime. */
const MERGE_MS = 100
/** Arrivals of the same response, computed from different reads, differ by less. */
const ARRIVAL_TOLERANCE_MS = 250
/** A refresh ahead begins after this part of the lifetime at the earliest. An earlier fetch follows an invalidation. */
const MIN_REFRESH_SHARE = 0.5

/** Of a larger part of the bits, hardly any response would be left. */
const MAX_MASK = 0xffff

type Mutable<T> = { -readonly [Name in keyof T]: T[Name] }

interface Minute {
  readonly at: number
  records: Mutable<RecordedRead>[]
  /** Of a key, these bits must be 0. */
  mask: number
  readonly observed: Map<string, ObservedReads>
}

/** What is known of a stored response. */
interface Known {
  version: number
  epochs: string
  fetchTime: number
  bytes: number
  arrivedAt?: number
  lastHit?: Mutable<RecordedRead>
  /** The responses of this key are computed from the snapshot of this key. */
  snapshotKey: number | undefined
}

export class ReadRecorder implements Required<Pick<EventListeners, 'request' | 'cache'>> {
  readonly #ttlOf: RecorderOptions['ttlOf']
  readonly #now: () => number
  #minutes: Minute[] = []
  /** The most recently used ones. A response that is forgotten is recorded as a new one. */
  readonly #known = growingLru<number, Known>(MAX_KNOWN)
  #since: number
  readonly #divergence = new Map<string, Divergence>()

  constructor({ ttlOf, now = Date.now }: RecorderOptions) {
    this.#ttlOf = ttlOf
    this.#now = now
    this.#since = now()
  }

  request(event: RequestEvent): void {
    const { at, cacheStatus: status, route, group } = event
    if (status?.key === undefined) return
    const minute = this.#minuteOf(at)
    const observed = observedOf(minute, route, group)
    observed.reads += 1
    const isHit = event.cache === 'hit' || event.cache === 'stale' || isTrialHit(status.detail)
    if (isHit) observed.hits += 1
    if ((status.key & minute.mask) !== 0) return
    const own = this.#knownOf(status.key)
    if (status.detail === 'snapshot') own.snapshotKey ??= snapshotKeyOf(route)
    const key = own.snapshotKey ?? status.key
    if ((key & minute.mask) !== 0) return
    const known = own.snapshotKey === undefined ? own : this.#knownOf(key)
    known.bytes = Math.max(known.bytes, event.bytes)
    const { lastHit: last, version } = known
    const arrived = at - event.ms
    if (isHit && last?.version === version && arrived - last.at < MERGE_MS) {
      last.reads += 1
      return
    }
    const arrivedAt = status.ttl === undefined ? undefined : at + status.ttl - this.#ttlOf(group, route)
    if (arrivedAt !== undefined) this.#noteArrival(minute, { key, route, group, known, arrivedAt })
    const read = recordOf({ key, route, group, known }, arrived, {
      reads: 1,
      isForced: status.fwd === 'request',
      ...(isHit && { arrivedAt: known.arrivedAt }),
    })
    if (isHit) known.lastHit = read
    this.#add(minute, read)
  }

  cache(event: CacheEvent): void {
    if (event.kind === 'verified' && event.outcome !== 'inconclusive') {
      const { group, route } = event
      const counts = this.#divergence.get(route) ?? { group, route, compared: 0, different: 0, ages: 0 }
      counts.compared += 1
      counts.different += event.outcome === 'different' ? 1 : 0
      counts.ages += event.age
      this.#divergence.set(route, counts)
    }
    if (event.kind !== 'fetch' || event.extent === 'part' || event.outcome !== 'stored') return
    const { key, extent, route, group, epochs, ms, bytes } = event
    const now = this.#now()
    const minute = this.#minuteOf(now)
    observedOf(minute, route, group).fetches += 1
    const id = extent === 'snapshot' ? snapshotKeyOf(route) : key
    if ((id & minute.mask) !== 0) return
    const known = this.#knownOf(id)
    if (known.epochs !== '' && epochs !== '' && epochs !== known.epochs) known.version += 1
    known.epochs = epochs
    known.fetchTime = ms
    known.bytes = bytes
    known.arrivedAt = now
    if (extent === 'whole') known.snapshotKey = undefined
  }

  /** Returns the counts of each endpoint; endpoints without a comparison are absent. */
  readonly divergence = (): readonly Divergence[] => [...this.#divergence.values()]

  /** Begins again: records from before a change of lifetimes would be read wrong. The divergence stays. */
  clear(): void {
    this.#minutes = []
    this.#known.clear()
    this.#since = this.#now()
  }

  read(): RecordedMinutes {
    const now = this.#now()
    const oldest = this.#oldest()
    const minutes = this.#minutes.filter(({ at }) => at > oldest)
    const mask = minutes.reduce((most, minute) => most | minute.mask, 0)
    const records = minutes.flatMap((minute) => minute.records).filter(({ key }) => (key & mask) === 0)
    return {
      time: Math.min(now - this.#since, now - (oldest + 1) * MINUTE_MS),
      share: 1 / (mask + 1),
      reads: records.sort((a, b) => a.at - b.at),
      observed: this.observed(),
    }
  }

  /** Returns the counts of each endpoint, without the records. */
  observed(): RecordedMinutes['observed'] {
    const oldest = this.#oldest()
    const minutes = this.#minutes.filter(({ at }) => at > oldest)
    const observed = new Map<string, ObservedReads>()
    for (const [route, counts] of minutes.flatMap((minute) => [...minute.observed])) {
      const sum = observed.get(route)
      if (sum === undefined) observed.set(route, { ...counts })
      else for (const name of ['reads', 'hits', 'fetches', 'elsewhere'] as const) sum[name] += counts[name]
    }
    return observed
  }

  /** The number of the last minute that is too old. */
  #oldest(): number {
    return Math.floor(this.#now() / MINUTE_MS) - MINUTES
  }

  /** A later arrival than the known one is that of a fetch by another replica. */
  #noteArrival(minute: Minute, { known, arrivedAt, ...names }: Names & { known: Known; arrivedAt: number }): void {
    const before = known.arrivedAt
    if (before !== undefined && arrivedAt <= before + ARRIVAL_TOLERANCE_MS) return
    known.arrivedAt = arrivedAt
    if (before === undefined) return
    const beganAt = arrivedAt - known.fetchTime
    if (beganAt < before + MIN_REFRESH_SHARE * this.#ttlOf(names.group, names.route)) known.version += 1
    observedOf(minute, names.route, names.group).elsewhere += 1
    this.#add(minute, recordOf({ ...names, known }, beganAt, { reads: 0, isForced: false }))
  }

  #add(minute: Minute, read: Mutable<RecordedRead>): void {
    minute.records.push(read)
    while (minute.records.length > MAX_RECORDS_PER_MINUTE && minute.mask < MAX_MASK) {
      minute.mask = minute.mask * 2 + 1
      minute.records = minute.records.filter(({ key }) => (key & minute.mask) === 0)
      for (const key of [...this.#known.keys()]) if ((key & minute.mask) !== 0) this.#known.delete(key)
    }
    if (minute.records.length > MAX_RECORDS_PER_MINUTE) minute.records.pop()
  }

  #knownOf(key: number): Known {
    let known = this.#known.get(key)
    if (known === undefined) {
      known = { version: 0, epochs: '', fetchTime: 0, bytes: 0, snapshotKey: undefined }
      this.#known.set(key, known)
    }
    return known
  }

  #minuteOf(time: number): Minute {
    const at = Math.floor(time / MINUTE_MS)
    const newest = this.#minutes.at(-1)
    // A request that took long may end after its minute.
    if (newest !== undefined && at <= newest.at) return newest
    const minute = { at, records: [], mask: (newest?.mask ?? 0) >> 1, observed: new Map() }
    this.#minutes = [...this.#minutes.filter((each) => each.at > at - MINUTES), minute]
    return minute
  }
}

interface Names {
  readonly key: number
  readonly route: string
  readonly group: string
}

/** All records have the same members in the same order, because there are many of them. */
function recordOf(
  { key, route, group, known }: Names & { readonly known: Known },
  at: number,
  { reads, isForced, arrivedAt }: Pick<RecordedRead, 'reads' | 'isForced' | 'arrivedAt'>,
): Mutable<RecordedRead> {
  const { version, fetchTime, bytes } = known
  const read = { at, key, group, route, reads, version, isForced, fetchTime, bytes }
  return arrivedAt === undefined ? read : { ...read, arrivedAt }
}

function observedOf({ observed }: Minute, route: string, group: string): ObservedReads {
  const known = observed.get(route)
  if (known !== undefined) return known
  const counts = { group, reads: 0, hits: 0, fetches: 0, elsewhere: 0 }
  observed.set(route, counts)
  return counts
}

function isTrialHit(detail: string | undefined): boolean {
  return detail !== undefined && (detail.startsWith('trial-hit') || detail.startsWith('trial-stale'))
}

/** Returns a number of 30 bits for the snapshot of a collection (FNV-1a). */
function snapshotKeyOf(route: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < route.length; at++) hash = Math.imul(hash ^ route.charCodeAt(at), 0x01000193)
  return hash >>> 2
}
