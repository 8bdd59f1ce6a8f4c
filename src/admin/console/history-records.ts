/**
 * Records of the history as texts, and the store in which replicas share them. Replicas exchange them through Redis, where
 * other programs and other versions may write too: a text that is not a valid record is skipped.
 */
import { BUCKETS } from '../../core/latency-histogram.ts'
import { EVENT_KINDS, type EventKind, type HistoryEvent } from './history-types.ts'
import { addCounts, type Counts, type Sums } from './traffic.ts'

/** What one process counted in one interval. */
export interface HistoryRecord {
  /** The process: a name survives a restart, a process does not. */
  readonly run: string
  /** Name of the replica. */
  readonly replica: string
  /** Number of the interval since 1970. */
  readonly at: number
  readonly sums: Omit<Sums, 'queued'>
  /** Index and count of each bucket (`LatencyHistogram.pairs`): of the latencies of requests, and of calls to nodes. */
  readonly latencies: readonly number[]
  readonly nodeLatencies: readonly number[]
}

/** First member of each text. A version that changes the form takes another number. */
const FORM = 2
/** A longer text is none of ours: a record has at most two times 66 buckets. */
const MAX_RECORD_CHARS = 4096
export const MAX_NAME_CHARS = 200

export function encodeRecord({ run, replica, at, sums, latencies, nodeLatencies }: HistoryRecord): string {
  const { requests, hits, cacheable, calls, saved, failures, stale } = sums
  const counts = [requests, hits, cacheable, calls, Math.round(saved), failures, stale]
  return JSON.stringify([FORM, run, at, replica, counts, latencies, nodeLatencies])
}

/** Returns undefined if the text is not a valid record. */
export function decodeRecord(text: string): HistoryRecord | undefined {
  const values = parseForm(text)
  if (values === undefined) return undefined
  const [run, at, replica, counts, latencies, nodeLatencies] = values
  if (!isName(run) || !isName(replica) || !isCount(at) || !areCounts(counts)) return undefined
  const [requests, hits, cacheable, calls, saved, failures, stale] = counts
  // A text with fewer counts has no `stale`.
  if (stale === undefined || !areBuckets(latencies) || !areBuckets(nodeLatencies)) return undefined
  const sums = { requests, hits, cacheable, calls, saved, failures, stale } as HistoryRecord['sums']
  return { run, replica, at, sums, latencies, nodeLatencies }
}

/** Adds the counts of a record. */
export function addRecord(target: Counts, { sums, latencies, nodeLatencies }: HistoryRecord): void {
  addCounts<Counts>(target, sums)
  target.times.addPairs(latencies)
  target.nodeTimes.addPairs(nodeLatencies)
}

/** `run`: the process that reported the event. A text that is too long for a record is shortened. */
export function encodeEvent(run: string, { at, replica, kind, text }: HistoryEvent): string {
  const shortened = text !== undefined && text.length > MAX_NAME_CHARS ? `${text.slice(0, MAX_NAME_CHARS - 1)}…` : text
  return JSON.stringify([FORM, run, at, replica, kind, ...(shortened === undefined ? [] : [shortened])])
}

/** Returns undefined if the text is not a valid event. */
export function decodeEvent(encoded: string): (HistoryEvent & { readonly run: string }) | undefined {
  const values = parseForm(encoded)
  if (values === undefined) return undefined
  const [run, at, replica, kind, text] = values
  if (!isName(run) || !isName(replica) || !isCount(at) || !isKind(kind)) return undefined
  if (text === undefined) return { run, at, replica, kind }
  return isName(text) ? { run, at, replica, kind, text } : undefined
}

/** Returns the members after the number of the form. Undefined for any other text. */
function parseForm(text: string): unknown[] | undefined {
  if (text.length > MAX_RECORD_CHARS) return undefined
  try {
    const value: unknown = JSON.parse(text)
    return Array.isArray(value) && value[0] === FORM ? value.slice(1) : undefined
  } catch {
    return undefined
  }
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MAX_NAME_CHARS
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

function isKind(value: unknown): value is EventKind {
  return EVENT_KINDS.some((kind) => kind === value)
}

function areCounts(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.every(isCount)
}

/** Pairs of an index, ascending, and a count. */
function areBuckets(pairs: unknown): pairs is readonly number[] {
  if (!areCounts(pairs)) return false
  const indexes = pairs.filter((_, at) => at % 2 === 0)
  return pairs.length % 2 === 0 && indexes.every((index, at) => index < BUCKETS && index > (indexes[at - 1] ?? -1))
}

/** Records of one kind, by time. */
export interface HistorySeries {
  readonly name: 'intervals' | 'minutes' | 'events'
  /** Seconds after which records are removed. */
  readonly lifetime: number
  /** The oldest records are removed above this number. */
  readonly maxRecords: number
  /** Seconds that one read from Redis covers, so that none takes long. */
  readonly pageSeconds: number
}

/** The limits on the number of records hold this many replicas for the whole lifetime. With more, the history is shorter. */
const REPLICAS = 32
const MINUTE = 60
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
/** Records are needed until the range that ends with the newest one has left them behind. */
const MARGIN = 10 * MINUTE

function series<Name extends HistorySeries['name']>(
  name: Name,
  lifetime: number,
  maxRecords: number,
  pageSeconds: number,
): HistorySeries & { readonly name: Name } {
  return { name, lifetime: lifetime + MARGIN, maxRecords, pageSeconds }
}

export const SERIES = {
  /** One record of each replica per ten seconds. */
  intervals: series('intervals', HOUR, (REPLICAS * HOUR) / 10, 10 * MINUTE),
  /** One record of each replica per minute. */
  minutes: series('minutes', DAY, (REPLICAS * DAY) / MINUTE, HOUR),
  events: series('events', DAY, 1000, DAY + MARGIN),
} as const

/** The series of the charts, which a process also has in its memory. */
export type ChartSeries = (typeof SERIES)[keyof typeof SERIES]

export interface TimedRecord {
  /** Begin of the interval, or time of the event, in seconds since 1970. */
  readonly seconds: number
  readonly text: string
}

export interface HistoryStore {
  /** Adds records. A record that exists already is not added again. Resolves to false if they are not stored. */
  add(series: HistorySeries, records: readonly TimedRecord[]): Promise<boolean>
  /** Returns the texts of the records in this time, both ends included. Undefined if they cannot be read. */
  read(series: HistorySeries, from: number, to: number): Promise<readonly string[] | undefined>
}
