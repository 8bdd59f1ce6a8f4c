/** One chart of the last hour. It says in words what it shows, for whoever does not see it. */
import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import { colour, shade } from './theme.ts'

export interface Line {
  readonly label: string
  /** Name of a colour of the style sheet. */
  readonly colour: string
  readonly values: readonly (number | null)[]
  readonly fill?: boolean
}

interface ChartProps {
  readonly title: string
  readonly at: readonly number[]
  readonly lines: readonly Line[]
  readonly format: (value: number) => string
  /** Fixed top, where there is one. */
  readonly top?: number
  /** The top is never lower, so that nothing does not look like much. */
  readonly least: number
}

const HEIGHT = 132

export function Chart({ title, at, lines, format, top, least }: ChartProps) {
  const ref = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | undefined>(undefined)
  const drawn = shade.value
  const data = [at, ...lines.map(({ values }) => values)] as unknown as uPlot.AlignedData
  // drawn anew when colours change, filled anew below
  useEffect(() => {
    const box = ref.current
    if (box === null) return
    const made = new uPlot(options(box.clientWidth, lines, format, { top, least }), data, box)
    plot.current = made
    const watcher = new ResizeObserver(() => made.setSize({ width: Math.max(120, box.clientWidth), height: HEIGHT }))
    watcher.observe(box)
    return () => {
      watcher.disconnect()
      made.destroy()
    }
  }, [drawn])
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
      <div ref={ref} class="plot" role="img" aria-label={inWords(title, lines, format)} />
    </figure>
  )
}

function inWords(title: string, lines: readonly Line[], format: (value: number) => string): string {
  const said = lines.map(({ label, values }) => {
    const there = values.filter((value) => value !== null)
    if (there.length === 0) return `${label}: nothing yet`
    return `${label}: now ${format(there.at(-1) ?? 0)}, at most ${format(Math.max(...there))}`
  })
  return `${title}, the last hour. ${said.join('; ')}`
}

function options(
  width: number,
  lines: readonly Line[],
  format: (value: number) => string,
  { top, least }: { readonly top: number | undefined; readonly least: number },
): uPlot.Options {
  const axis = {
    stroke: colour('quiet'),
    grid: { stroke: colour('line'), width: 1 },
    ticks: { show: false },
    font: '11px system-ui',
  }
  return {
    width: Math.max(120, width),
    height: HEIGHT,
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
        stroke: colour(line.colour),
        width: 1.5,
        spanGaps: false,
        // A line needs two: what stands alone between gaps is a dot.
        points: { show: true, size: 4, filter: (plot: uPlot, at: number) => alone(plot.data[at] ?? []) },
        ...(line.fill && { fill: `${colour(line.colour)}22` }),
      })),
    ],
  }
}

function alone(values: ArrayLike<number | null | undefined>): number[] {
  const there = (at: number) => values[at] !== null && values[at] !== undefined
  return Array.from(values, (_, at) => at).filter((at) => there(at) && !there(at - 1) && !there(at + 1))
}
