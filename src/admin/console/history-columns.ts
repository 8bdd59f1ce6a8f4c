/** The values of the history in each interval of a window: of one replica, or the sum of all. */
import { inTurns } from '../../core/turns.ts'
import type { Recorder } from './history-recorder.ts'
import { addRecord, decodeRecord, type HistoryRecord, type HistoryStore } from './history-records.ts'
import type { History } from './history-types.ts'
import type { Window } from './history-windows.ts'
import type { Rates } from './node-types.ts'
import { type Counts, emptyCounts, ratesOf } from './rates.ts'

export interface HistorySources {
  /** Name of this replica. */
  readonly name: string
  /** This process. */
  readonly run: string
  /** Absent: no Redis is configured. */
  readonly store: HistoryStore | undefined
  readonly recorder: Pick<Recorder, 'own'>
}

export interface Columns {
  readonly source: History['source']
  readonly names: readonly string[]
  readonly replica?: string
  readonly rates: ReturnType<typeof ratesOfPoints>
}

const MAX_NAMES = 100
const MAX_REMEMBERED = 32

/** The columns of each window are read once, however many pages show them. */
export class HistoryColumns {
  readonly #sources: HistorySources
  readonly #remembered = new Map<string, { readonly end: number; readonly columns: Promise<Columns> }>()

  constructor(sources: HistorySources) {
    this.#sources = sources
  }

  /** A replica without records has empty columns. So clients cannot repeat the read with names that do not exist. */
  async read(window: Window, replica: string | undefined): Promise<Columns> {
    const { readAs } = window
    if (readAs !== undefined) return partOf(await this.read(readAs, replica), readAs, window)
    const all = await this.#readOnce(window, undefined)
    if (replica === undefined || all.source !== 'redis') return all
    if (all.names.includes(replica)) return this.#readOnce(window, replica)
    const points = all.rates.perSecond.map(() => undefined)
    return { ...all, replica, rates: ratesOfPoints(points, window.intervalSeconds) }
  }

  async #readOnce(window: Window, replica: string | undefined): Promise<Columns> {
    const remembered = this.#remembered
    const key = JSON.stringify([window.name, replica])
    const known = remembered.get(key)
    const columns = known?.end === window.end ? known.columns : readColumns(this.#sources, window, replica)
    if (remembered.size >= MAX_REMEMBERED) remembered.clear()
    remembered.set(key, { end: window.end, columns })
    const { source } = await columns
    // Redis may be reachable again before the interval ends.
    if (source === 'unreachable') remembered.delete(key)
    return columns
  }
}

/** Returns the columns of a window from those of another one with the same intervals. */
function partOf({ rates, ...columns }: Columns, read: Window, { end, points }: Window): Columns {
  const skipped = end - points - (read.end - read.points)
  const part = (column: Column): Column => Array.from({ length: points }, (_, at) => column[skipped + at] ?? null)
  const parts = Object.entries(rates).map(([name, column]) => [name, part(column)])
  return { ...columns, rates: Object.fromEntries(parts) as Columns['rates'] }
}

async function readColumns(
  { name, run, store, recorder }: HistorySources,
  { series, recordSeconds, intervalSeconds, points: count, end }: Window,
  replica: string | undefined,
): Promise<Columns> {
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
  for await (const part of inTurns(shared)) for (const text of part) add(text, false)
  for (const text of own) add(text, true)
  return records.values()
}
