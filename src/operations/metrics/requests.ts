/** Requests of clients: one histogram by OpenTelemetry's names, and how the cache dealt with each of them. */
import { Counter, Histogram, type Registry } from '@prometheus-io/client'
import type { Answered, CacheWord } from '../../pipeline/observed.ts'
import { Series } from './series.ts'

/** Seconds. A hit takes less than one of the milliseconds that OpenTelemetry's own buckets begin with. */
const BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
const WORDS: readonly CacheWord[] = ['hit', 'stale', 'miss', 'bypass', 'none']

/** `groups`: the names of the cache's groups, and `none`; they are there from the start, with nothing counted. */
export function requestMetrics(registry: Registry, groups: readonly string[]): (event: Answered) => void {
  const registers = [registry]
  const duration = new Histogram({
    name: 'http_server_request_duration_seconds',
    help: 'Duration of HTTP server requests, from their head to the end of their answer.',
    labelNames: ['http_request_method', 'http_route', 'http_response_status_code'],
    buckets: BUCKETS,
    registers,
  })
  const requests = new Counter({
    name: 'edge_cache_requests_total',
    help: 'Requests by cache group and by how the cache dealt with them; their sum is all requests.',
    labelNames: ['group', 'status'],
    registers,
  })
  const bytes = new Counter({
    name: 'edge_sent_bytes_total',
    help: 'Bytes of bodies sent to clients.',
    labelNames: ['group'],
    registers,
  })
  const saved = new Counter({
    name: 'edge_cache_saved_seconds_total',
    help: 'Time of nodes that answers out of the cache had cost when they were fetched.',
    labelNames: ['group'],
    registers,
  })
  const durations = new Series(([method, route, status]) =>
    duration.labels({
      http_request_method: method,
      http_route: route,
      // The client left before there was an answer.
      http_response_status_code: status === 0 ? 'none' : status,
    }),
  )
  const counted = new Series(([group, status]) => requests.labels({ group, status }))
  const sent = new Series(([group]) => bytes.labels({ group }))
  const spared = new Series(([group]) => saved.labels({ group }))
  for (const group of groups) {
    for (const status of WORDS) counted.of(group, status).inc(0)
    sent.of(group).inc(0)
    spared.of(group).inc(0)
  }
  return (event) => {
    const { method, route, status, group, cost } = event
    durations.of(method, route, status).observe(event.ms / 1000)
    counted.of(group, event.cache).inc(1)
    sent.of(group).inc(event.bytes)
    if (cost !== undefined) spared.of(group).inc(cost / 1000)
  }
}
