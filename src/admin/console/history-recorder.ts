/** Records the rates and events of this process, in its memory and in the history that replicas share. */
import { randomUUID } from 'node:crypto'
import type { CacheEvent, EventListeners, InvalidationCause } from '../../core/events.ts'
import {
  type ChartSeries,
  encodeEvent,
  encodeRecord,
  type HistoryStore,
  MAX_NAME_CHARS,
  SERIES,
  type TimedRecord,
} from './history-records.ts'
import type { HistoryEvent } from './history-types.ts'
import { emptyCounts, INTERVAL_MS, MINUTE_MS, REMEMBERED_MS, type Traffic } from './traffic.ts'

export interface HistoryOptions {
  /** Name of this replica. */
  readonly name: string
  readonly traffic: Pick<Traffic, 'interval'>
  /** Absent: the records are in the memory of this process only. */
  readonly store?: HistoryStore | undefined
  /** Milliseconds since 1970. */
  readonly now?: () => number
}

/** How often this process looks whether an interval has ended. */
const UPDATE_INTERVAL_MS = 1000
const MAX_RECORDS_PER_WRITE = 64
const MAX_OWN_EVENTS = 200
/** The same event again within this time is not recorded: a purge of several parts is one event. */
const EVENT_PAUSE_MS = 10_000

/** What a purge removed, for the event in the charts. Absent: the cause is no purge. */
const PURGES: Readonly<Partial<Record<InvalidationCause, string>>> = {
  purgeAll: 'everything',
  purgeGroup: 'a group',
  purgeEndpoint: 'an endpoint',
  purgeTag: 'a tag',
  purgeKey: 'entries by key',
  softPurge: 'marked as stale',
}

interface OwnRecord extends TimedRecord {
  isWritten: boolean
}

const LENGTHS = [
  { series: SERIES.intervals, length: INTERVAL_MS },
  { series: SERIES.minutes, length: MINUTE_MS },
] as const
type Length = (typeof LENGTHS)[number]

/** Records are in memory as long as their series has them. Those that the store lacks are written later. */
export class HistoryRecorder implements Required<Pick<EventListeners, 'ejection' | 'cache'>> {
  readonly name: string
  /** Names this process. */
  readonly run = randomUUID().slice(0, 8)
  readonly store: HistoryStore | undefined
  readonly now: () => number
  readonly #traffic: HistoryOptions['traffic']
  readonly #timer: NodeJS.Timeout
  readonly #records: Readonly<Record<ChartSeries['name'], OwnRecord[]>> = { intervals: [], minutes: [], events: [] }
  /** The number of the oldest interval and of the oldest minute that is not recorded. */
  readonly #next = new Map<Length, number>()
  readonly #lastEvents = new Map<string, number>()
  #writing: Promise<void> | undefined

  constructor({ name, traffic, store, now = Date.now }: HistoryOptions) {
    this.name = name.slice(0, MAX_NAME_CHARS)
    this.store = store
    this.now = now
    this.#traffic = traffic
    for (const each of LENGTHS) this.#next.set(each, this.#current(each))
    this.#timer = setInterval(() => void this.update(), UPDATE_INTERVAL_MS).unref()
  }

  /** Records the intervals that have ended, and writes what is not written yet. */
  update(): Promise<void> {
    for (const each of LENGTHS) {
      const current = this.#current(each)
      // After the clock was set back, intervals are recorded again, and the newer record counts.
      const next = Math.min(this.#next.get(each) ?? current, current)
      for (let at = Math.max(next, current - REMEMBERED_MS / each.length); at < current; at++) this.#record(each, at)
      this.#next.set(each, current)
    }
    return this.#write()
  }

  recordEvent({ kind, text }: Pick<HistoryEvent, 'kind' | 'text'>): void {
    const at = this.now()
    const same = `${kind} ${text}`
    if (at - (this.#lastEvents.get(same) ?? Number.NEGATIVE_INFINITY) < EVENT_PAUSE_MS) return
    if (this.#lastEvents.size >= MAX_OWN_EVENTS) this.#lastEvents.clear()
    this.#lastEvents.set(same, at)
    const event = { at, replica: this.name, kind, ...(text !== undefined && { text }) }
    this.#add(SERIES.events, at / 1000, encodeEvent(this.run, event))
  }

  ejection(node: string): void {
    this.recordEvent({ kind: 'ejection', text: node })
  }

  cache(event: CacheEvent): void {
    const text = event.kind === 'invalidated' ? PURGES[event.cause] : undefined
    if (text !== undefined) this.recordEvent({ kind: 'purge', text })
  }

  /** Returns the texts of this process in this time (seconds since 1970), oldest first. */
  own(series: ChartSeries, from: number, to: number): readonly string[] {
    return this.#records[series.name].filter(({ seconds }) => seconds >= from && seconds <= to).map(({ text }) => text)
  }

  /** Records the present interval and minute as far as they have passed, and ends. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    const writing = this.update()
    for (const each of LENGTHS) this.#record(each, this.#current(each))
    await writing
    // That write may not have included the last records.
    await this.#write()
  }

  #current({ length }: Length): number {
    return Math.floor(this.now() / length)
  }

  #record({ series, length }: Length, at: number): void {
    const { times, nodeTimes, ...sums } = this.#traffic.interval(at, length) ?? emptyCounts()
    const latencies = { latencies: times.pairs(), nodeLatencies: nodeTimes.pairs() }
    const text = encodeRecord({ run: this.run, replica: this.name, at, sums, ...latencies })
    this.#add(series, (at * length) / 1000, text)
  }

  #add(series: ChartSeries, seconds: number, text: string): void {
    const records = this.#records[series.name]
    records.push({ seconds, text, isWritten: this.store === undefined })
    const oldest = this.now() / 1000 - series.lifetime
    while ((records[0]?.seconds ?? oldest) < oldest || (series.name === 'events' && records.length > MAX_OWN_EVENTS))
      records.shift()
  }

  /** A call during a write resolves with that write. */
  #write(): Promise<void> {
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined
    })
    return this.#writing
  }

  /** Writes in the order of the series. */
  async #writeAll(): Promise<void> {
    if (this.store === undefined) return
    for (const series of Object.values(SERIES)) {
      for (;;) {
        const unwritten = this.#records[series.name].filter(({ isWritten }) => !isWritten)
        const batch = unwritten.slice(0, MAX_RECORDS_PER_WRITE)
        if (batch.length === 0) break
        // A later update writes the remaining records, if they are still in memory.
        if (!(await this.store.add(series, batch))) return
        for (const record of batch) record.isWritten = true
      }
    }
  }
}
