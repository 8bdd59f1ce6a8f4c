/** Records the rates and events of this process, in its memory and in the history that replicas share. */
import type { EventListeners, InvalidationCause } from '../../core/events.ts'
import {
  addRecord,
  type ChartSeries,
  encodeEvent,
  encodeRecord,
  type HistoryStore,
  SERIES,
  type TimedRecord,
} from './history-records.ts'
import type { HistoryEvent } from './history-types.ts'
import { type Counts, emptyCounts } from './time-slots.ts'
import { INTERVAL_MS, INTERVALS, type Traffic } from './traffic.ts'

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

const INTERVALS_PER_MINUTE = 6
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

type OwnRecords = Record<ChartSeries['name'], OwnRecord[]>

export function createRecorder({ name, run, traffic, store, now }: RecorderOptions): Recorder {
  const records: OwnRecords = { intervals: [], minutes: [], events: [] }
  const lastEvents = new Map<string, number>()
  const currentInterval = () => Math.floor(now() / INTERVAL_MS)
  /** The oldest interval that is not recorded. */
  let next = currentInterval()
  let minute = emptyMinute(Math.floor(next / INTERVALS_PER_MINUTE))
  let writing: Promise<void> | undefined

  const keep = (series: ChartSeries, seconds: number, text: string): void => {
    const kept = records[series.name]
    kept.push({ seconds, text, isWritten: store === undefined })
    const oldest = now() / 1000 - series.lifetime
    while ((kept[0]?.seconds ?? oldest) < oldest || (series.name === 'events' && kept.length > MAX_OWN_EVENTS))
      kept.shift()
  }
  const recordOf = (at: number, sums: Counts) => ({
    ...{ run, replica: name, at, sums },
    ...{ latencies: sums.times.pairs(), nodeLatencies: sums.nodeTimes.pairs() },
  })
  const closeMinute = (): void => {
    const { at } = minute
    if (minute.isUsed) keep(SERIES.minutes, at * 60, encodeRecord(recordOf(at, minute)))
    minute = emptyMinute(at + 1)
  }
  const closeInterval = (at: number): void => {
    const record = recordOf(at, traffic.interval(at) ?? emptyCounts())
    keep(SERIES.intervals, (at * INTERVAL_MS) / 1000, encodeRecord(record))
    const ofMinute = Math.floor(at / INTERVALS_PER_MINUTE)
    if (minute.at !== ofMinute) {
      closeMinute()
      minute = emptyMinute(ofMinute)
    }
    minute.isUsed = true
    addRecord(minute, record)
    if ((at + 1) % INTERVALS_PER_MINUTE === 0) closeMinute()
  }
  const closeIntervals = (): void => {
    const current = currentInterval()
    // After the clock was set back, intervals are recorded again, and the newer record counts.
    next = Math.min(next, current)
    for (let at = Math.max(next, current - INTERVALS); at < current; at++) closeInterval(at)
    next = current
  }
  const write = (): Promise<void> => {
    if (store === undefined) return Promise.resolve()
    writing ??= writeAll(records, store).finally(() => {
      writing = undefined
    })
    return writing
  }

  const recordEvent: Recorder['recordEvent'] = ({ kind, text }) => {
    const at = now()
    const same = `${kind} ${text}`
    if (at - (lastEvents.get(same) ?? Number.NEGATIVE_INFINITY) < EVENT_PAUSE_MS) return
    if (lastEvents.size >= MAX_OWN_EVENTS) lastEvents.clear()
    lastEvents.set(same, at)
    const event = { at, replica: name, kind, ...(text !== undefined && { text }) }
    keep(SERIES.events, at / 1000, encodeEvent(run, event))
  }

  return {
    update: () => {
      closeIntervals()
      return write()
    },
    recordEvent,
    listeners: {
      ejection: (node) => recordEvent({ kind: 'ejection', text: node }),
      cache: (event) => {
        const text = event.kind === 'invalidated' ? PURGES[event.cause] : undefined
        if (text !== undefined) recordEvent({ kind: 'purge', text })
      },
    },
    own: (series, from, to) =>
      records[series.name].filter(({ seconds }) => seconds >= from && seconds <= to).map(({ text }) => text),
    close: async () => {
      closeIntervals()
      closeInterval(next)
      closeMinute()
      // A write in progress does not include the last records.
      await writing
      await write()
    },
  }
}

/** Writes what is not written yet, in the order of the series. */
async function writeAll(records: OwnRecords, store: HistoryStore): Promise<void> {
  for (const series of Object.values(SERIES)) {
    for (;;) {
      const batch = records[series.name].filter(({ isWritten }) => !isWritten).slice(0, MAX_RECORDS_PER_WRITE)
      if (batch.length === 0) break
      // A later update writes the remaining records, if they are still in memory.
      if (!(await store.add(series, batch))) return
      for (const record of batch) record.isWritten = true
    }
  }
}

function emptyMinute(at: number) {
  return { ...emptyCounts(), at, isUsed: false }
}
