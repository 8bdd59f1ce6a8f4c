/** How uPlot draws a chart of the history: axes, lines and event marks. */
import uPlot from 'uplot'
import type { EventKind, HistoryEvent } from '../server/history-types.ts'
import { eventLetters } from './event-names.ts'
import { formatClock } from './format.ts'
import { colourOf } from './theme.ts'

export interface Line {
  readonly label: string
  /** Name of a custom property of the style sheet. */
  readonly colour: string
  readonly values: readonly (number | null)[]
  readonly fill?: boolean
}

/** `top`: fixed maximum. `least`: smallest maximum, so that small values look small. `log`: powers of ten. */
export type Scale = { readonly top: number } | { readonly least: number } | 'log'

/** What changes with each response, read when the chart is drawn. */
export interface Drawn {
  /** Milliseconds. */
  readonly interval: number
  readonly events: readonly HistoryEvent[]
}

export const CHART_HEIGHT_PX = 148
export const MIN_CHART_WIDTH_PX = 120
const FONT = '11px system-ui'
const MARK_FONT_PX = 10
/** Between an axis and its labels. The values end below the axis of times, so its labels begin further away. */
const VALUE_GAP_PX = 5
const TIME_GAP_PX = 8
/** Between two labels of times, and between the letters of two event marks. */
const TEXT_GAP_PX = 12
const MARK_GAP_PX = 4
/** With usual values, the plots of all charts begin at the same place. */
const MIN_VALUES_WIDTH_PX = 58
/** Seconds between two labels of times. */
const TIME_STEPS = [1, 5, 10, 15, 30, ...[1, 2, 5, 10, 15, 30, 60].map((all) => all * 60)]
/** Steps of an axis whose multiples `formatRate` shows in full, also below ten. */
const STEPS = Array.from({ length: 24 }, (_, at) => [1, 2, 5].map((digit) => Number(`${digit}e${at - 6}`))).flat()
const MINUTE_SECONDS = 60
/** Time between the end of an interval and its first appearance, with a margin: newer events need space at the right. */
const SETTLE_SECONDS = 5
/** With more powers of ten, only every second one has a label. */
const MAX_DECADES = 5
/** The cursor of uPlot follows the position that all charts share, not the pointer. */
const POINTER_EVENTS = ['mousedown', 'mouseup', 'click', 'dblclick', 'mousemove', 'mouseleave', 'mouseenter']

interface ChartParts {
  readonly width: number
  readonly lines: readonly Line[]
  readonly scale: Scale
  /** Text of a value at the axis. */
  readonly format: (value: number) => string
  readonly drawn: () => Drawn
}

export function chartOptions({ width, lines, scale, format, drawn }: ChartParts): uPlot.Options {
  const axis = {
    stroke: colourOf('quiet'),
    grid: { stroke: colourOf('line'), width: 1 },
    ticks: { show: false },
    font: FONT,
  }
  return {
    width: Math.max(MIN_CHART_WIDTH_PX, width),
    height: CHART_HEIGHT_PX,
    legend: { show: false },
    cursor: {
      y: false,
      drag: { x: false, y: false },
      points: { size: 6 },
      bind: Object.fromEntries(POINTER_EVENTS.map((name) => [name, () => null])),
    },
    padding: [14, Math.ceil(textWidth(timeText(0, 1)) / 2), 0, 0],
    scales: { x: { range: (_plot, from, to) => timeRange(from, to, drawn()) }, y: valueScale(scale) },
    axes: [
      {
        ...axis,
        size: 24,
        gap: TIME_GAP_PX,
        space: (_plot, _axis, from, to, width) => timeSpace(to - from, width),
        incrs: TIME_STEPS,
        values: (_plot, times, _axis, _space, step) => times.map((at) => timeText(at, step)),
      },
      {
        ...axis,
        size: (_plot, texts) => Math.max(MIN_VALUES_WIDTH_PX, ...(texts ?? []).map(valueWidth)),
        gap: VALUE_GAP_PX,
        space: 30,
        incrs: STEPS,
        // Without the filter, uPlot leaves out labels that have space.
        ...(scale === 'log' && {
          splits: (_plot, _axis, from, to) => powersOfTen(from, to),
          filter: (_plot, all) => all,
        }),
        values: (_plot, values) => values.map((value) => (value === null ? '' : format(value))),
      },
    ],
    series: [{}, ...lines.map(seriesOf)],
    hooks: { draw: [(plot) => drawEvents(plot, drawn().events)] },
  }
}

function timeRange(from: number, to: number, { interval }: Drawn): [number, number] {
  const seconds = interval / 1000
  return [from - seconds, to + seconds + SETTLE_SECONDS]
}

const measuring = document.createElement('canvas').getContext('2d')

/** Returns the width of a label in pixels. */
function textWidth(text: string): number {
  if (measuring === null) return 0
  measuring.font = FONT
  return Math.ceil(measuring.measureText(text).width)
}

function valueWidth(text: string): number {
  return textWidth(text) + VALUE_GAP_PX + 2
}

/** Returns the smallest distance of two labels. Labels have no seconds if the distance is at least one minute. */
function timeSpace(seconds: number, width: number): number {
  const [short, long] = [MINUTE_SECONDS, 1].map((step) => textWidth(timeText(0, step)) + TEXT_GAP_PX)
  // The longest step below one minute is half a minute.
  return ((short ?? 0) * seconds) / width > MINUTE_SECONDS / 2 ? (short ?? 0) : (long ?? 0)
}

function timeText(at: number, step: number): string {
  return formatClock(at * 1000).slice(0, step < MINUTE_SECONDS ? 8 : 5)
}

function valueScale(scale: Scale): uPlot.Scale {
  if (scale === 'log') return { distr: 3, log: 10, range: (_plot, low, high) => decades(low, high) }
  if ('top' in scale) return { range: () => [0, scale.top] }
  return { range: (_plot, _low, high) => [0, Math.max((high ?? 0) * 1.1, scale.least)] }
}

/** Returns the powers of ten around the values, or 1 ms to 1 s without values. */
function decades(low: number | null, high: number | null): [number, number] {
  if (low === null || high === null || !(low > 0)) return [1, 1000]
  const bottom = Math.floor(Math.log10(low))
  return [10 ** bottom, 10 ** Math.max(bottom + 1, Math.ceil(Math.log10(high)))]
}

function powersOfTen(from: number, to: number): number[] {
  const [first, last] = [Math.round(Math.log10(from)), Math.round(Math.log10(to))]
  const step = last - first > MAX_DECADES ? 2 : 1
  return Array.from({ length: Math.floor((last - first) / step) + 1 }, (_, at) => 10 ** (first + at * step))
}

function seriesOf(line: Line): uPlot.Series {
  return {
    label: line.label,
    stroke: colourOf(line.colour),
    width: 1.5,
    spanGaps: false,
    // A point between two gaps has no line, so it is drawn as a dot.
    points: { show: true, size: 4, filter: (plot: uPlot, at: number) => isolatedPoints(plot.data[at] ?? []) },
    ...(line.fill && { fill: `${colourOf(line.colour)}22` }),
  }
}

function isolatedPoints(values: ArrayLike<number | null | undefined>): number[] {
  const isPresent = (at: number) => values[at] !== null && values[at] !== undefined
  return Array.from(values, (_, at) => at).filter((at) => isPresent(at) && !isPresent(at - 1) && !isPresent(at + 1))
}

/** Draws a dashed line at each event, with the letter of its kind above. Events at almost the same time share a line. */
function drawEvents({ ctx, bbox, valToPos }: uPlot, events: readonly HistoryEvent[]): void {
  const ratio = uPlot.pxRatio
  ctx.save()
  ctx.strokeStyle = colourOf('quiet')
  ctx.fillStyle = colourOf('text')
  ctx.font = `600 ${MARK_FONT_PX * ratio}px system-ui`
  ctx.textAlign = 'center'
  ctx.textBaseline = 'bottom'
  ctx.lineWidth = ratio
  ctx.setLineDash([3 * ratio, 3 * ratio])
  const places = events.map(({ at, kind }) => ({ x: Math.round(valToPos(at / 1000, 'x', true)), kind }))
  const inside = places.filter(({ x }) => x >= bbox.left && x <= bbox.left + bbox.width)
  const widthOf = (letters: string) => ctx.measureText(letters).width + MARK_GAP_PX * ratio
  for (const { x, letters } of marksOf(inside, widthOf)) {
    ctx.beginPath()
    ctx.moveTo(x, bbox.top)
    ctx.lineTo(x, bbox.top + bbox.height)
    ctx.stroke()
    ctx.fillText(letters, x, bbox.top - ratio)
  }
  ctx.restore()
}

/** Returns one mark for events whose letters would overlap. Its letters are those of their kinds, each once. */
function marksOf(
  events: readonly { readonly x: number; readonly kind: EventKind }[],
  widthOf: (letters: string) => number,
) {
  const marks: Mark[] = []
  for (const { x, kind } of events) {
    let mark = { x, letters: eventLetters[kind] }
    for (let last = marks.at(-1); last !== undefined && overlaps(last, mark, widthOf); last = marks.at(-1)) {
      mark = { x: last.x, letters: [...new Set(last.letters + mark.letters)].join('') }
      marks.pop()
    }
    marks.push(mark)
  }
  return marks
}

type Mark = { readonly x: number; readonly letters: string }

function overlaps(one: Mark, other: Mark, widthOf: (letters: string) => number): boolean {
  return other.x - one.x < (widthOf(one.letters) + widthOf(other.letters)) / 2
}
