/** The history of the console: rates and events over the last minutes to hours, of one replica or the sum of all. */
import { randomUUID } from 'node:crypto'
import { waitForTurn } from '../../core/turns.ts'
import { createRecorder, type Recorder } from './history-recorder.ts'
import {
  addRecord,
  type ChartSeries,
  decodeEvent,
  decodeRecord,
  type HistoryRecord,
  type HistoryStore,
  SERIES,
} from './history-records.ts'
import type { History, HistoryEvent, HistoryQuery, Range } from './history-types.ts'
import type { Rates } from './node-types.ts'
import { type Counts, emptyCounts, ratesOf } from './time-slots.ts'
import type { Traffic } from './traffic.ts'

export interface HistoryOptions {
  /** Name of this replica. */
  readonly name: string
  readonly traffic: Pick<Traffic, 'interval'>
  /** Absent: no Redis is configured. */
  readonly store?: HistoryStore | undefined
  /** Milliseconds since 1970. */
  readonly now?: () => number
}

export interface ConsoleHistory extends Pick<Recorder, 'update' | 'recordEvent' | 'listeners'> {
  /** Returns the sum of all replicas, or one replica by its name. Never rejects because of Redis. */
  read(query: HistoryQuery): Promise<History>
  /** Records until now, and ends. */
  close(): Promise<void>
}

interface Shape {
  readonly series: ChartSeries
  /** Seconds. */
  readonly recordSeconds: number
  readonly intervalSeconds: number
  readonly points: number
}

/** The intervals of one response. */
interface Window extends Shape {
  /** Two windows with the same name and end have the same intervals. */
  readonly name: string
  /** Number of the interval after the last one, since 1970. */
  readonly end: number
}

/** About 300 points each: as many as a chart has pixels for. */
const SHAPES: Readonly<Record<Range, Shape>> = {
  '5m': { series: SERIES.intervals, recordSeconds: 10, intervalSeconds: 10, points: 30 },
  '15m': { series: SERIES.intervals, recordSeconds: 10, intervalSeconds: 10, points: 90 },
  '1h': { series: SERIES.intervals, recordSeconds: 10, intervalSeconds: 10, points: 360 },
  '6h': { series: SERIES.minutes, recordSeconds: 60, intervalSeconds: 60, points: 360 },
  '24h': { series: SERIES.minutes, recordSeconds: 60, intervalSeconds: 300, points: 288 },
}

/** What a response without a range in its query may cover. */
const FITTING_RANGES = ['5m', '15m', '1h'] as const

/** How often this process looks whether an interval has ended. */
const UPDATE_INTERVAL_MS = 1000
/** An interval is shown this long after its end: until then, a replica may not have written it, and the sum would drop. */
const SETTLE_SECONDS = 3
const MAX_NAME_CHARS = 200
const MAX_NAMES = 100
const MAX_EVENTS = 200
const MAX_REMEMBERED = 32
const RECORDS_PER_TURN = 64

export function createHistory({ traffic, store, now = Date.now, ...options }: HistoryOptions): ConsoleHistory {
  const name = options.name.slice(0, MAX_NAME_CHARS)
  const run = randomUUID().slice(0, 8)
  const recorder = createRecorder({ name, run, traffic, store, now })
  const timer = setInterval(() => void recorder.update(), UPDATE_INTERVAL_MS)
  timer.unref()
  const remembered = new Map<string, { readonly end: number; readonly columns: Promise<Columns> }>()

  /** Reads the columns of a window once. */
  const columnsOf = async (window: Window, replica: string | undefined): Promise<Columns> => {
    const key = JSON.stringify([window.name, replica])
    const known = remembered.get(key)
    const columns = known?.end === window.end ? known.columns : readColumns(window, replica)
    if (remembered.size >= MAX_REMEMBERED) remembered.clear()
    remembered.set(key, { end: window.end, columns })
    const { source } = await columns
    // Redis may be reachable again before the interval ends.
    if (source === 'unreachable') remembered.delete(key)
    return columns
  }

  /** A replica without records has empty columns. So clients cannot repeat the read with names that do not exist. */
  const columnsOfReplica = async (window: Window, replica: string | undefined): Promise<Columns> => {
    const all = await columnsOf(window, undefined)
    if (replica === undefined || all.source !== 'redis') return all
    return all.names.includes(replica)
      ? columnsOf(window, replica)
      : {
          ...all,
          replica,
          rates: ratesOfPoints(
            all.rates.perSecond.map(() => undefined),
            window.intervalSeconds,
          ),
        }
  }

  const fittingRange = async (replica: string | undefined): Promise<Range> => {
    const { perSecond } = (await columnsOfReplica(windowOfRange('1h', now()), replica)).rates
    const first = perSecond.findIndex((rate) => rate !== null)
    const needed = first === -1 ? 0 : perSecond.length - first
    return FITTING_RANGES.find((range) => SHAPES[range].points >= needed) ?? '1h'
  }

  const readColumns = async (window: Window, replica: string | undefined): Promise<Columns> => {
    const { series, recordSeconds, intervalSeconds, points: count, end } = window
    const from = (end - count) * intervalSeconds
    const to = end * intervalSeconds - 1
    const shared = store === undefined ? [] : await store.read(series, from, to)
    const source = store === undefined ? 'memory' : shared === undefined ? 'unreachable' : 'redis'
    const shown = source === 'redis' ? replica : name
    const points: (Counts | undefined)[] = Array.from({ length: count }, () => undefined)
    const names = new Set([name])
    const records = await decodeAll(shared ?? [], recorder.own(series, from, to), run)
    for (const record of records) {
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

  return {
    update: recorder.update,
    recordEvent: recorder.recordEvent,
    listeners: recorder.listeners,
    read: async ({ range, from, to, replica }) => {
      const shownRange = from === undefined ? (range ?? (await fittingRange(replica))) : undefined
      const window = shownRange === undefined ? windowOfTime(from ?? 0, to, now()) : windowOfRange(shownRange, now())
      const { source, names, replica: shown, rates } = await columnsOfReplica(window, replica)
      const { intervalSeconds: seconds, end, points } = window
      const begin = (end - points) * seconds
      return {
        ...(shownRange !== undefined && { range: shownRange }),
        interval: seconds * 1000,
        at: Array.from({ length: points }, (_, index) => begin + (index + 1) * seconds),
        ...rates,
        ...(shown !== undefined && { replica: shown }),
        replicas: names,
        self: name,
        source,
        events: await readEvents({ store, recorder, run }, begin, to ?? now() / 1000),
      }
    },
    close: () => {
      clearInterval(timer)
      return recorder.close()
    },
  }
}

/** Returns the number of the interval that is the first one not shown yet. */
function settledEnd(intervalSeconds: number, now: number): number {
  return Math.floor((now / 1000 - SETTLE_SECONDS) / intervalSeconds)
}

function windowOfRange(range: Range, now: number): Window {
  const shape = SHAPES[range]
  return { ...shape, name: range, end: settledEnd(shape.intervalSeconds, now) }
}

/** Returns the window with the shortest intervals that exist for this time, and that are not more than a chart shows. */
function windowOfTime(from: number, to: number | undefined, now: number): Window {
  const last = Math.min(to ?? Number.POSITIVE_INFINITY, now / 1000)
  const shape =
    Object.values(SHAPES).find(
      ({ series, intervalSeconds, points }) =>
        series.lifetime >= now / 1000 - from && points * intervalSeconds >= last - from,
    ) ?? SHAPES['24h']
  const { intervalSeconds } = shape
  const first = Math.floor(from / intervalSeconds)
  const end = Math.min(Math.ceil(last / intervalSeconds), settledEnd(intervalSeconds, now))
  const points = Math.max(0, Math.min(end - first, shape.points + 1))
  return { ...shape, name: `${intervalSeconds} ${end - points}`, end, points }
}

interface Columns {
  readonly source: History['source']
  readonly names: readonly string[]
  readonly replica?: string
  readonly rates: ReturnType<typeof ratesOfPoints>
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

/** Returns the valid records, each process and interval once. The own ones come from memory, which is never behind. */
async function decodeAll(
  shared: readonly string[],
  own: readonly string[],
  run: string,
): Promise<Iterable<HistoryRecord>> {
  const records = new Map<string, HistoryRecord>()
  const add = (text: string, isOwn: boolean): void => {
    const record = decodeRecord(text)
    if (record !== undefined && (record.run === run) === isOwn) records.set(`${record.run} ${record.at}`, record)
  }
  for (const [at, text] of shared.entries()) {
    if (at % RECORDS_PER_TURN === 0) await waitForTurn()
    add(text, false)
  }
  for (const text of own) add(text, true)
  return records.values()
}

interface EventSources {
  readonly store: HistoryStore | undefined
  readonly recorder: Recorder
  readonly run: string
}

async function readEvents({ store, recorder, run }: EventSources, from: number, to: number): Promise<HistoryEvent[]> {
  const shared = (await store?.read(SERIES.events, from, to)) ?? []
  const decode = (texts: readonly string[]) => texts.flatMap((text) => decodeEvent(text) ?? [])
  const others = decode(shared).filter((event) => event.run !== run)
  return [...others, ...decode(recorder.own(SERIES.events, from, to))]
    .filter(({ at }) => at >= from * 1000 && at <= to * 1000)
    .sort((a, b) => a.at - b.at)
    .slice(-MAX_EVENTS)
    .map(({ run: _, ...event }) => event)
}
