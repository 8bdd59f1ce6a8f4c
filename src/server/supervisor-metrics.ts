/** The metrics of the supervisor itself; those of the processes are added to them. */
import type { MetricFamily } from '../telemetry/metrics/sum.ts'

export interface SupervisorCounts {
  readonly configured: number
  readonly ready: number
  /** Processes that have answered this scrape. */
  readonly answered: number
  /** Processes that were started because another one had ended unexpectedly. */
  readonly restarts: number
}

export function supervisorMetrics({
  configured,
  ready,
  answered,
  restarts,
}: SupervisorCounts): readonly MetricFamily[] {
  const states = Object.entries({ configured, ready, answered })
  return [
    {
      name: 'edge_processes',
      help: 'Processes behind the ports; answered: those whose gauges are in this scrape.',
      type: 'gauge',
      aggregator: 'sum',
      values: states.map(([state, value]) => ({ labels: { state }, value })),
    },
    {
      name: 'edge_process_restarts_total',
      help: 'Processes that were started again after they had ended unexpectedly.',
      type: 'counter',
      aggregator: 'sum',
      values: [{ labels: {}, value: restarts }],
    },
    {
      name: 'process_start_time_seconds',
      help: 'Start time of the supervisor since unix epoch in seconds.',
      type: 'gauge',
      aggregator: 'sum',
      values: [{ labels: {}, value: performance.timeOrigin / 1000 }],
    },
  ]
}
