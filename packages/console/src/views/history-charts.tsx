/** What the charts of the history show. */
import { useSignal } from '@preact/signals'
import type { History } from '../../server/history-types.ts'
import { Chart } from '../chart.tsx'
import type { Line, Scale } from '../chart-options.ts'
import { formatDuration, formatPercent, formatRate, formatWorkers } from '../format.ts'

interface ChartKind {
  readonly title: string
  readonly scale: Scale
  readonly format: (value: number) => string
  /** For the axis, if it differs. */
  readonly formatAxis?: (value: number) => string
  readonly lines: (history: History) => readonly Line[]
}

const toWorkers = (value: number | null) => (value === null ? null : value / 1000)

const charts: readonly ChartKind[] = [
  {
    title: 'Requests per second',
    scale: { least: 1 },
    format: formatRate,
    lines: ({ perSecond, callsPerSecond, failuresPerSecond }) => [
      { label: 'requests', colour: 'accent', values: perSecond, fill: true },
      { label: 'calls to nodes', colour: 'warm', values: callsPerSecond },
      { label: 'failures (5xx)', colour: 'bad', values: failuresPerSecond },
    ],
  },
  {
    title: 'Hit ratio',
    scale: { top: 1 },
    format: (value) => formatPercent(value),
    lines: ({ hitRatio }) => [{ label: 'hits of cacheable requests', colour: 'accent', values: hitRatio, fill: true }],
  },
  {
    title: 'Latency',
    scale: 'log',
    format: formatDuration,
    lines: ({ p50, p99 }) => [
      { label: 'p50', colour: 'accent', values: p50 },
      { label: 'p99', colour: 'warm', values: p99 },
    ],
  },
  {
    title: 'Manager time saved',
    scale: { least: 0.01 },
    format: formatWorkers,
    formatAxis: formatRate,
    lines: ({ savedPerSecond }) => [
      { label: 'by cache hits', colour: 'accent', values: savedPerSecond.map(toWorkers), fill: true },
    ],
  },
]

interface HistoryChartsProps {
  readonly history: History
}

export function HistoryCharts({ history }: HistoryChartsProps) {
  const cursor = useSignal<number | undefined>(undefined)
  return (
    <div class="charts">
      {charts.map(({ lines, ...kind }) => (
        <Chart key={kind.title} {...kind} history={history} cursor={cursor} lines={lines(history)} />
      ))}
    </div>
  )
}
