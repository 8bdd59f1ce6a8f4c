/** A chart of the history. Pointer and keys move one cursor through all charts; each shows its values at the cursor. */
import type { Signal } from '@preact/signals'
import { useEffect, useId, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import type { History } from '../server/history-types.ts'
import {
  CHART_HEIGHT_PX,
  chartOptions,
  type Drawn,
  type Line,
  MIN_CHART_WIDTH_PX,
  type Scale,
} from './chart-options.ts'
import { eventLetters, eventTitle } from './event-names.ts'
import { formatClock, NONE } from './format.ts'
import { colourVersion } from './theme.ts'

interface ChartProps {
  readonly title: string
  readonly history: History
  readonly lines: readonly Line[]
  readonly format: (value: number) => string
  /** For the axis, if it differs. */
  readonly formatAxis?: (value: number) => string
  readonly scale: Scale
  /** The end of the interval under the cursor, in seconds since 1970. Undefined: the newest values are shown. */
  readonly cursor: Signal<number | undefined>
}

export function Chart({ title, history, lines, format, formatAxis = format, scale, cursor }: ChartProps) {
  const { at } = history
  const ref = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | undefined>(undefined)
  const drawn = useRef<Drawn>(history)
  drawn.current = history
  const summary = useId()
  const colours = colourVersion.value
  const values = lines.map((line) => line.values)
  const data = [at, ...values] as unknown as uPlot.AlignedData
  const index = indexOf(at, cursor.value)
  const shown = index ?? at.length - 1

  // The plot is created again when the colours change. Other effects update the data and the cursor.
  useEffect(() => {
    const box = ref.current
    if (box === null) return
    const parts = { width: box.clientWidth, lines, scale, format: formatAxis, drawn: () => drawn.current }
    const created = new uPlot(chartOptions(parts), data, box)
    plot.current = created
    const watcher = new ResizeObserver(() =>
      created.setSize({ width: Math.max(MIN_CHART_WIDTH_PX, box.clientWidth), height: CHART_HEIGHT_PX }),
    )
    watcher.observe(box)
    return () => {
      watcher.disconnect()
      created.destroy()
    }
  }, [colours])
  useEffect(() => plot.current?.setData(data), [at, history.events, ...values])
  useEffect(() => {
    const left = index === undefined ? undefined : plot.current?.valToPos(at[index] ?? 0, 'x')
    plot.current?.setCursor({ left: left ?? -10, top: left === undefined ? -10 : 1 }, false)
  }, [at, index, colours])

  const events = eventsAt(history, shown)
  return (
    <figure class="chart">
      <figcaption>
        <span class="chart-title">{title}</span>
        <span class="chart-time">
          {index !== undefined && `${events.map(({ kind }) => eventLetters[kind]).join(' ')} ${timeText(at, index)}`}
        </span>
        <span class="chart-values">
          {lines.map((line) => (
            <span key={line.label} class={`legend legend-${line.colour}`}>
              {line.label} <b>{valueText(line, shown, format)}</b>
            </span>
          ))}
        </span>
      </figcaption>
      <div
        ref={ref}
        class="plot"
        role="slider"
        tabIndex={0}
        aria-label={`${title}: values over time`}
        aria-describedby={summary}
        aria-valuemin={0}
        aria-valuemax={Math.max(0, at.length - 1)}
        aria-valuenow={Math.max(0, shown)}
        aria-valuetext={[
          timeText(at, shown),
          ...lines.map((line) => `${line.label} ${valueText(line, shown, format)}`),
          ...events.map(eventTitle),
        ].join(', ')}
        onPointerMove={({ clientX }) => {
          const { over } = plot.current ?? {}
          if (over !== undefined)
            cursor.value = at[plot.current?.posToIdx(clientX - over.getBoundingClientRect().left) ?? 0]
        }}
        onPointerLeave={() => {
          cursor.value = undefined
        }}
        onBlur={() => {
          cursor.value = undefined
        }}
        onKeyDown={(event) => {
          const next = nextIndex(event.key, shown, at.length)
          if (next === undefined) return
          event.preventDefault()
          cursor.value = next === 'none' ? undefined : at[next]
        }}
      />
      <p id={summary} class="hidden">
        {describe(lines, format)} Arrow keys show earlier and later values.
      </p>
    </figure>
  )
}

/** Intervals that Page Up and Page Down pass. */
const PAGE = 10

/** Returns the position after a key, `none` if the key removes the cursor, and undefined if it does nothing here. */
function nextIndex(key: string, index: number, length: number): number | 'none' | undefined {
  const within = (next: number) => Math.min(Math.max(0, next), length - 1)
  switch (key) {
    case 'ArrowLeft':
    case 'ArrowDown':
      return within(index - 1)
    case 'ArrowRight':
    case 'ArrowUp':
      return within(index + 1)
    case 'PageDown':
      return within(index - PAGE)
    case 'PageUp':
      return within(index + PAGE)
    case 'Home':
      return 0
    case 'End':
      return within(length)
    case 'Escape':
      return 'none'
    default:
      return undefined
  }
}

/** Returns the first interval that ends at this time or later: new responses move the intervals below the cursor. */
function indexOf(at: readonly number[], seconds: number | undefined): number | undefined {
  if (seconds === undefined || at.length === 0) return undefined
  const found = at.findIndex((each) => each >= seconds)
  return found === -1 ? at.length - 1 : found
}

/** Returns the events of an interval. Those after the newest interval belong to it. */
function eventsAt({ at, interval, events }: History, index: number) {
  const end = at[index]
  if (end === undefined) return []
  const isNewest = index === at.length - 1
  return events.filter((event) => event.at >= end * 1000 - interval && (isNewest || event.at < end * 1000))
}

function valueText({ values }: Line, index: number, format: (value: number) => string): string {
  const value = values[index]
  return value === null || value === undefined ? NONE : format(value)
}

function timeText(at: readonly number[], index: number): string {
  const seconds = at[index]
  return seconds === undefined ? '' : formatClock(seconds * 1000)
}

function describe(lines: readonly Line[], format: (value: number) => string): string {
  const texts = lines.map(({ label, values }) => {
    const present = values.filter((value) => value !== null)
    if (present.length === 0) return `${label}: no data.`
    return `${label}: newest ${format(present.at(-1) ?? 0)}, maximum ${format(Math.max(...present))}.`
  })
  return texts.join(' ')
}
