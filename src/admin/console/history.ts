/** The history of the console: rates and events over the last minutes to hours, of one replica or the sum of all. */
import { growingLru } from '../../core/recently-used.ts'
import { inTurns } from '../../core/turns.ts'
import { HistoryRecorder } from './history-recorder.ts'
import {
  addRecord,
  type ChartSeries,
  decodeEvent,
  decodeRecord,
  type HistoryRecord,
  SERIES,
} from './history-records.ts'
import type { History, HistoryEvent, HistoryQuery, Range } from './history-types.ts'
import type { Rates } from './node-types.ts'
import { type Counts, emptyCounts, ratesOf } from './traffic.ts'

/** The intervals of a response. */
interface Window {
  readonly series: ChartSeries
  /** Seconds. */
  readonly recordSeconds: number
  readonly intervalSeconds: number
  readonly points: number
  /** Number of the interval after the last one, since 1970. */
  readonly end: number
}

/** About 300 points each: as many as a chart has pixels for. */
const SHAPES: Readonly<Record<Range, Omit<Window, 'end'>>> = {
  '5m': { series: SERIES.intervals, recordSeconds: 10, intervalSeconds: 10, points: 30 },
  '15m': { series: SERIES.intervals, recordSeconds: 10, intervalSeconds: 10, points: 90 },
  '1h': { series: SERIES.intervals, recordSeconds: 10, intervalSeconds: 10, points: 360 },
  '6h': { series: SERIES.minutes, recordSeconds: 60, intervalSeconds: 60, points: 360 },
  '24h': { series: SERIES.minutes, recordSeconds: 60, intervalSeconds: 300, points: 288 },
}

/** What a response without a range in its query may cover, with intervals of the same length. */
const FITTING_RANGES = ['5m', '15m', '1h'] as const

/** An interval is shown this long after its end: until then, a replica may not have written it, and the sum would drop. */
const SETTLE_SECONDS = 3

const MAX_EVENTS = 200
const MAX_NAMES = 100
const MAX_REMEMBERED = 32

interface Columns {
  readonly source: History['source']
  readonly names: readonly string[]
  readonly replica?: string
  readonly rates: ReturnType<typeof ratesOfPoints>
}

export class ConsoleHistory extends HistoryRecorder {
  /** The columns of each window are read once, however many pages show them. */
  readonly #remembered = growingLru<string, Promise<Columns>>(MAX_REMEMBERED)

  /** Returns the sum of all replicas, or one replica by its name. Never rejects because of Redis. */
  async read({ range, from, to, replica }: HistoryQuery): Promise<History> {
    const shownRange = from === undefined ? (range ?? (await this.#fittingRange(replica))) : undefined
    const window =
      shownRange === undefined ? windowOfTime(from ?? 0, to, this.now()) : windowOfRange(shownRange, this.now())
    const { source, names, replica: shown, rates } = await this.#columns(window, replica)
    const { intervalSeconds: seconds, end, points } = window
    const begin = (end - points) * seconds
    return {
      ...(shownRange !== undefined && { range: shownRange }),
      interval: seconds * 1000,
      at: Array.from({ length: points }, (_, index) => begin + (index + 1) * seconds),
      ...rates,
      ...(shown !== undefined && { replica: shown }),
      replicas: names,
      self: this.name,
      source,
      events: await this.#events(begin, to ?? this.now() / 1000),
    }
  }

  /** Returns the shortest range up to an hour that has all records of the last hour. */
  async #fittingRange(replica: string | undefined): Promise<Range> {
    const { perSecond } = (await this.#columns(windowOfRange('1h', this.now()), replica)).rates
    const first = perSecond.findIndex((rate) => rate !== null)
    const points = first === -1 ? 0 : perSecond.length - first
    return FITTING_RANGES.find((range) => SHAPES[range].points >= points) ?? '1h'
  }

  /** A replica without records has empty columns. So clients cannot repeat the read with names that do not exist. */
  async #columns(window: Window, replica: string | undefined): Promise<Columns> {
    const { intervalSeconds } = window
    const day = windowOfRange('24h', this.now())
    // One read of the day serves all windows within it.
    if (intervalSeconds === day.intervalSeconds && (window.end !== day.end || window.points !== day.points))
      return partOf(await this.#columns(day, replica), day, window)
    const all = await this.#readOnce(window, undefined)
    if (replica === undefined || all.source !== 'redis') return all
    if (all.names.includes(replica)) return this.#readOnce(window, replica)
    const points = all.rates.perSecond.map(() => undefined)
    return { ...all, replica, rates: ratesOfPoints(points, intervalSeconds) }
  }

  async #readOnce(window: Window, replica: string | undefined): Promise<Columns> {
    const { intervalSeconds, end, points } = window
    const key = JSON.stringify([intervalSeconds, end, points, replica])
    const columns = this.#remembered.get(key) ?? this.#readColumns(window, replica)
    this.#remembered.set(key, columns)
    const { source } = await columns
    // Redis may be reachable again before the interval ends.
    if (source === 'unreachable') this.#remembered.delete(key)
    return columns
  }

  async #readColumns(
    { series, recordSeconds, intervalSeconds, points: count, end }: Window,
    replica: string | undefined,
  ): Promise<Columns> {
    const from = (end - count) * intervalSeconds
    const to = end * intervalSeconds - 1
    const shared = this.store === undefined ? [] : await this.store.read(series, from, to)
    const source = this.store === undefined ? 'memory' : shared === undefined ? 'unreachable' : 'redis'
    const shown = source === 'redis' ? replica : this.name
    const points: (Counts | undefined)[] = Array.from({ length: count }, () => undefined)
    const names = new Set([this.name])
    for (const record of await this.#decode(shared ?? [], this.own(series, from, to))) {
      const at = Math.floor((record.at * recordSeconds - from) / intervalSeconds)
      if (at < 0 || at >= count) continue
      if (names.size < MAX_NAMES) names.add(record.replica)
      if (shown !== undefined && record.replica !== shown) continue
      const point = points[at] ?? emptyCounts()
      points[at] = point
      addRecord(point, record)
    }
    const rates = ratesOfPoints(points, intervalSeconds)
    return { source, names: [...names].sort(), ...(shown !== undefined && { replica: shown }), rates }
  }

  /** Returns the valid records, each process and interval once. The own ones come from memory, which is never behind. */
  async #decode(shared: readonly string[], own: readonly string[]): Promise<Iterable<HistoryRecord>> {
    const records = new Map<string, HistoryRecord>()
    const add = (text: string, isOwn: boolean): void => {
      const record = decodeRecord(text)
      if (record !== undefined && (record.run === this.run) === isOwn) records.set(`${record.run} ${record.at}`, record)
    }
    for await (const part of inTurns(shared)) for (const text of part) add(text, false)
    for (const text of own) add(text, true)
    return records.values()
  }

  async #events(from: number, to: number): Promise<HistoryEvent[]> {
    const shared = (await this.store?.read(SERIES.events, from, to)) ?? []
    const decode = (texts: readonly string[]) => texts.flatMap((text) => decodeEvent(text) ?? [])
    const others = decode(shared).filter(({ run }) => run !== this.run)
    return [...others, ...decode(this.own(SERIES.events, from, to))]
      .filter(({ at }) => at >= from * 1000 && at <= to * 1000)
      .sort((a, b) => a.at - b.at)
      .slice(-MAX_EVENTS)
      .map(({ run: _, ...event }) => event)
  }
}

function windowOfRange(range: Range, now: number): Window {
  const shape = SHAPES[range]
  return { ...shape, end: settledEnd(shape.intervalSeconds, now) }
}

/**
 * Returns the window with the shortest intervals that exist for this time, and that are not more than a chart shows. A time
 * over six hours is part of the range of a day: a read for each such time would have four times as many records.
 */
function windowOfTime(from: number, to: number | undefined, now: number): Window {
  const last = Math.min(to ?? Number.POSITIVE_INFINITY, now / 1000)
  const shape =
    Object.values(SHAPES).find(
      ({ series, intervalSeconds, points }) =>
        series.lifetime >= now / 1000 - from && points * intervalSeconds >= last - from,
    ) ?? SHAPES['24h']
  const { intervalSeconds } = shape
  const end = Math.min(Math.ceil(last / intervalSeconds), settledEnd(intervalSeconds, now))
  const points = Math.max(0, Math.min(end - Math.floor(from / intervalSeconds), shape.points + 1))
  return { ...shape, end, points }
}

/** Returns the number of the interval that is the first one not shown yet. */
function settledEnd(intervalSeconds: number, now: number): number {
  return Math.floor((now / 1000 - SETTLE_SECONDS) / intervalSeconds)
}

/** Returns the columns of a window from those of another one with the same intervals. */
function partOf({ rates, ...columns }: Columns, read: Window, { end, points }: Window): Columns {
  const skipped = end - points - (read.end - read.points)
  const part = (column: Column): Column => Array.from({ length: points }, (_, at) => column[skipped + at] ?? null)
  const parts = Object.entries(rates).map(([name, column]) => [name, part(column)])
  return { ...columns, rates: Object.fromEntries(parts) as Columns['rates'] }
}

type Column = readonly (number | null)[]

function ratesOfPoints(points: readonly (Counts | undefined)[], intervalSeconds: number) {
  const rates = points.map((point) => (point === undefined ? undefined : ratesOf([point], intervalSeconds * 1000)))
  const column = (name: keyof Rates): Column => rates.map((each) => each?.[name] ?? null)
  const read = (value: (point: Counts) => number | undefined): Column =>
    points.map((point) => (point === undefined ? null : (value(point) ?? null)))
  const perSecond = (count: number) => count / intervalSeconds
  return {
    perSecond: column('perSecond'),
    hitRatio: column('hitRatio'),
    p50: column('p50'),
    p99: column('p99'),
    callsPerSecond: column('callsPerSecond'),
    savedPerSecond: column('savedPerSecond'),
    failuresPerSecond: column('failuresPerSecond'),
    hitsPerSecond: read(({ hits }) => perSecond(hits)),
    stalePerSecond: read(({ stale }) => perSecond(stale)),
    nodeP50: read(({ nodeTimes }) => nodeTimes.quantile(0.5)),
    nodeP99: read(({ nodeTimes }) => nodeTimes.quantile(0.99)),
  }
}
