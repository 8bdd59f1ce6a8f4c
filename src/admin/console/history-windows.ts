/** Which intervals a response of the history has: their length, their number and their end. */
import { type ChartSeries, SERIES } from './history-records.ts'
import type { Range } from './history-types.ts'

interface Shape {
  readonly series: ChartSeries
  /** Seconds. */
  readonly recordSeconds: number
  readonly intervalSeconds: number
  readonly points: number
}

/** The intervals of one response. */
export interface Window extends Shape {
  /** Two windows with the same name and end have the same intervals. */
  readonly name: string
  /** Number of the interval after the last one, since 1970. */
  readonly end: number
  /** The window with the same intervals that is read instead: one read serves all windows within it. */
  readonly readAs?: Window
}

/** About 300 points each: as many as a chart has pixels for. */
const SHAPES: Readonly<Record<Range, Shape>> = {
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

/** Returns the number of the interval that is the first one not shown yet. */
function settledEnd(intervalSeconds: number, now: number): number {
  return Math.floor((now / 1000 - SETTLE_SECONDS) / intervalSeconds)
}

export function windowOfRange(range: Range, now: number): Window {
  const shape = SHAPES[range]
  return { ...shape, name: range, end: settledEnd(shape.intervalSeconds, now) }
}

/**
 * Returns the window with the shortest intervals that exist for this time, and that are not more than a chart shows. A time
 * over six hours is part of the range of a day: a read for each such time would have four times as many records.
 */
export function windowOfTime(from: number, to: number | undefined, now: number): Window {
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
  const window = { ...shape, name: `${intervalSeconds} ${end - points}`, end, points }
  return shape === SHAPES['24h'] ? { ...window, readAs: windowOfRange('24h', now) } : window
}

/** Returns the shortest range up to an hour that has this number of points. */
export function shortestRange(points: number): Range {
  return FITTING_RANGES.find((range) => SHAPES[range].points >= points) ?? '1h'
}
