/** A chart of the last hour, with a text for screen readers. */
import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import { colourOf, colourVersion } from './theme.ts'

export interface Line {
  readonly label: string
  /** Name of a custom property of the style sheet. */
  readonly colour: string
  readonly values: readonly (number | null)[]
  readonly fill?: boolean
}

interface ChartProps {
  readonly title: string
  readonly at: readonly number[]
  readonly lines: readonly Line[]
  readonly format: (value: number) => string
  /** Fixed maximum of the axis. */
  readonly top?: number
  /** Smallest maximum of the axis, so that small values look small. */
  readonly least: number
}

const CHART_HEIGHT_PX = 132

export function Chart({ title, at, lines, format, top, least }: ChartProps) {
  const ref = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | undefined>(undefined)
  const colours = colourVersion.value
  const data = [at, ...lines.map(({ values }) => values)] as unknown as uPlot.AlignedData
  // The plot is created again when the colours change. Another effect updates the data.
  useEffect(() => {
    const box = ref.current
    if (box === null) return
    const created = new uPlot(options(box.clientWidth, lines, format, { top, least }), data, box)
    plot.current = created
    const watcher = new ResizeObserver(() =>
      created.setSize({ width: Math.max(120, box.clientWidth), height: CHART_HEIGHT_PX }),
    )
    watcher.observe(box)
    return () => {
      watcher.disconnect()
      created.destroy()
    }
  }, [colours])
  useEffect(() => plot.current?.setData(data))
  return (
    <figure class="chart">
      <figcaption>
        <span>{title}</span>
        {lines.map((line) => (
          <span key={line.label} class={`legend legend-${line.colour}`}>
            {line.label}
          </span>
        ))}
      </figcaption>
      <div ref={ref} class="plot" role="img" aria-label={describe(title, lines, format)} />
    </figure>
  )
}

function describe(title: string, lines: readonly Line[], format: (value: number) => string): string {
  const texts = lines.map(({ label, values }) => {
    const present = values.filter((value) => value !== null)
    if (present.length === 0) return `${label}: no data`
    return `${label}: now ${format(present.at(-1) ?? 0)}, maximum ${format(Math.max(...present))}`
  })
  return `${title}, last hour. ${texts.join('; ')}`
}

function options(
  width: number,
  lines: readonly Line[],
  format: (value: number) => string,
  { top, least }: { readonly top: number | undefined; readonly least: number },
): uPlot.Options {
  const axis = {
    stroke: colourOf('quiet'),
    grid: { stroke: colourOf('line'), width: 1 },
    ticks: { show: false },
    font: '11px system-ui',
  }
  return {
    width: Math.max(120, width),
    height: CHART_HEIGHT_PX,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 5 } },
    padding: [8, 8, 0, 0],
    scales: { y: { range: (_plot, _low, high) => [0, top ?? Math.max((high ?? 0) * 1.1, least)] } },
    axes: [
      { ...axis, size: 22, space: 60, values: '{HH}:{mm}' },
      { ...axis, size: 54, space: 32, values: (_plot, values) => values.map((value) => format(value)) },
    ],
    series: [
      {},
      ...lines.map((line) => ({
        label: line.label,
        stroke: colourOf(line.colour),
        width: 1.5,
        spanGaps: false,
        // A point between two gaps has no line, so it is drawn as a dot.
        points: { show: true, size: 4, filter: (plot: uPlot, at: number) => isolatedPoints(plot.data[at] ?? []) },
        ...(line.fill && { fill: `${colourOf(line.colour)}22` }),
      })),
    ],
  }
}

function isolatedPoints(values: ArrayLike<number | null | undefined>): number[] {
  const isPresent = (at: number) => values[at] !== null && values[at] !== undefined
  return Array.from(values, (_, at) => at).filter((at) => isPresent(at) && !isPresent(at - 1) && !isPresent(at + 1))
}
