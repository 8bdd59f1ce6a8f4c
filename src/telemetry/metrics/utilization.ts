/** The utilization of the event loop, which the metrics library does not measure. */
import { performance } from 'node:perf_hooks'
import { Histogram, Summary } from '@platformatic/prom-client'
import type { MetricsRegistry } from './series.ts'

const SAMPLING_MS = 100
const BUCKETS = [0.01, 0.05, 0.1, 0.25, 0.5, 0.6, 0.7, 0.75, 0.8, 0.9, 0.95, 0.99, 1]
const PERCENTILES = [0.01, 0.05, 0.5, 0.9, 0.95, 0.99, 0.999]
const NAME = 'nodejs_eventloop_utilization'

/** Samples until the returned function is called. A blocked event loop counts once for each sample that it has missed. */
export function sampleUtilization(registry: MetricsRegistry): () => void {
  const help =
    'Ratio of time the event loop is not idling in the event provider to the total time the event loop is running.'
  const common = { help, registers: [registry] }
  const summary = { name: `${NAME}_summary`, maxAgeSeconds: 60, ageBuckets: 5, percentiles: PERCENTILES }
  const series = [
    new Summary({ ...common, ...summary }),
    new Histogram({ ...common, name: `${NAME}_histogram`, buckets: BUCKETS }),
  ]
  let last = performance.eventLoopUtilization()
  let sampledAt = performance.now()
  const timer = setInterval(() => {
    const current = performance.eventLoopUtilization()
    const now = performance.now()
    const { utilization } = performance.eventLoopUtilization(current, last)
    for (let missed = Math.round((now - sampledAt) / SAMPLING_MS); missed > 0; missed -= 1) {
      for (const metric of series) metric.observe(utilization)
    }
    last = current
    sampledAt = now
  }, SAMPLING_MS)
  timer.unref()
  return () => clearInterval(timer)
}
