/** Records the rates and events of this process, in its memory and in the history that replicas share. */
import type { EventListeners, InvalidationCause } from '../../core/events.ts'
import {
  type ChartSeries,
  encodeEvent,
  encodeRecord,
  type HistoryStore,
  SERIES,
  type TimedRecord,
} from './history-records.ts'
import type { HistoryEvent } from './history-types.ts'
import { emptyCounts } from './rates.ts'
import { INTERVAL_MS, MINUTE_MS, REMEMBERED_MS, type Traffic } from './traffic.ts'

export interface RecorderOptions {
  /** Name of this replica. */
  readonly name: string
  /** Names this process. */
  readonly run: string
  readonly traffic: Pick<Traffic, 'interval'>
  /** Absent: the records are in the memory of this process only. */
  readonly store?: HistoryStore | undefined
  /** Milliseconds since 1970. */
  readonly now: () => number
}

export interface Recorder {
  /** Records the intervals that have ended, and writes what is not written yet. */
  update(): Promise<void>
  recordEvent(event: Pick<HistoryEvent, 'kind' | 'text'>): void
  /** Records ejections and purges. */
  readonly listeners: Required<Pick<EventListeners, 'ejection' | 'cache'>>
  /** Returns the texts of this process in this time (seconds since 1970), oldest first. */
  own(series: ChartSeries, from: number, to: number): readonly string[]
  /** Records the present interval and minute as far as they have passed. */
  close(): Promise<void>
}

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

/** The records of this process in its memory. Those that the store lacks are written later. */
class OwnRecords {
  readonly #store: HistoryStore | undefined
  readonly #now: () => number
  readonly #records: Readonly<Record<ChartSeries['name'], OwnRecord[]>> = { intervals: [], minutes: [], events: [] }
  #writing: Promise<void> | undefined

  constructor({ store, now }: Pick<RecorderOptions, 'store' | 'now'>) {
    this.#store = store
    this.#now = now
  }

  add(series: ChartSeries, seconds: number, text: string): void {
    const records = this.#records[series.name]
    records.push({ seconds, text, isWritten: this.#store === undefined })
    const oldest = this.#now() / 1000 - series.lifetime
    while ((records[0]?.seconds ?? oldest) < oldest || (series.name === 'events' && records.length > MAX_OWN_EVENTS))
      records.shift()
  }

  /** Returns the texts in this time, oldest first. */
  read(series: ChartSeries, from: number, to: number): readonly string[] {
    return this.#records[series.name].filter(({ seconds }) => seconds >= from && seconds <= to).map(({ text }) => text)
  }

  /** Writes what is not written yet. A call during a write resolves with it. */
  write(): Promise<void> {
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined
    })
    return this.#writing
  }

  /** Writes the last records, which a write in progress does not include. */
  async close(): Promise<void> {
    await this.#writing
    await this.write()
  }

  /** Writes in the order of the series. */
  async #writeAll(): Promise<void> {
    if (this.#store === undefined) return
    for (const series of Object.values(SERIES)) {
      for (;;) {
        const unwritten = this.#records[series.name].filter(({ isWritten }) => !isWritten)
        const batch = unwritten.slice(0, MAX_RECORDS_PER_WRITE)
        if (batch.length === 0) break
        // A later update writes the remaining records, if they are still in memory.
        if (!(await this.#store.add(series, batch))) return
        for (const record of batch) record.isWritten = true
      }
    }
  }
}

export function createRecorder({ name, run, traffic, store, now }: RecorderOptions): Recorder {
  const records = new OwnRecords({ store, now })
  const lastEvents = new Map<string, number>()
  const lengths = [
    { series: SERIES.intervals, length: INTERVAL_MS },
    { series: SERIES.minutes, length: MINUTE_MS },
  ] as const
  const intervals = lengths.map(({ series, length }) => {
    const currentOf = () => Math.floor(now() / length)
    const record = (at: number): void => {
      const { times, nodeTimes, ...sums } = traffic.interval(at, length) ?? emptyCounts()
      const latencies = { latencies: times.pairs(), nodeLatencies: nodeTimes.pairs() }
      records.add(series, (at * length) / 1000, encodeRecord({ run, replica: name, at, sums, ...latencies }))
    }
    /** The oldest one that is not recorded. */
    let next = currentOf()
    const recordEnded = (): void => {
      const current = currentOf()
      // After the clock was set back, intervals are recorded again, and the newer record counts.
      for (let at = Math.max(Math.min(next, current), current - REMEMBERED_MS / length); at < current; at++) record(at)
      next = current
    }
    return { recordEnded, recordCurrent: () => record(next) }
  })
  const recordEvent: Recorder['recordEvent'] = ({ kind, text }) => {
    const at = now()
    const same = `${kind} ${text}`
    if (at - (lastEvents.get(same) ?? Number.NEGATIVE_INFINITY) < EVENT_PAUSE_MS) return
    if (lastEvents.size >= MAX_OWN_EVENTS) lastEvents.clear()
    lastEvents.set(same, at)
    const event = { at, replica: name, kind, ...(text !== undefined && { text }) }
    records.add(SERIES.events, at / 1000, encodeEvent(run, event))
  }

  return {
    update: () => {
      for (const { recordEnded } of intervals) recordEnded()
      return records.write()
    },
    recordEvent,
    listeners: {
      ejection: (node) => recordEvent({ kind: 'ejection', text: node }),
      cache: (event) => {
        const text = event.kind === 'invalidated' ? PURGES[event.cause] : undefined
        if (text !== undefined) recordEvent({ kind: 'purge', text })
      },
    },
    own: (series, from, to) => records.read(series, from, to),
    close: () => {
      for (const { recordEnded, recordCurrent } of intervals) {
        recordEnded()
        recordCurrent()
      }
      return records.close()
    },
  }
}
