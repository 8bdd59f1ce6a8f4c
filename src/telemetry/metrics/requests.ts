/** Requests of clients: one histogram by OpenTelemetry's names, and how the cache dealt with each of them. */
import { Counter, Histogram, type Registry } from '@prometheus-io/client'
import type { CacheOutcome, RequestEvent } from '../../core/events.ts'
import { Series } from './series.ts'

/** Seconds. A hit takes less than one of the milliseconds that OpenTelemetry's own buckets begin with. */
const BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
const WORDS: readonly CacheOutcome[] = ['hit', 'stale', 'miss', 'bypass', 'none']

/** Requests of one kind since somebody last looked: each is counted in one place, which costs a hit next to nothing. */
interface Tally {
  requests: number
  bytes: number
  /** Seconds. */
  saved: number
}

/** `groups`: the names of the cache's groups, and `none`; they are there from the start, with nothing counted. */
export function requestMetrics(registry: Registry, groups: readonly string[]): (event: RequestEvent) => void {
  const registers = [registry]
  const duration = new Histogram({
    name: 'http_server_request_duration_seconds',
    help: 'Duration of HTTP server requests, from their head to the end of their answer.',
    labelNames: ['http_request_method', 'http_route', 'http_response_status_code'],
    buckets: BUCKETS,
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
  const tallies = tally(registers)
  for (const group of groups) for (const status of WORDS) tallies.of(group, status)
  return ({ method, route, status, group, cache, fetchTime: cost, ms, bytes }) => {
    durations.of(method, route, status).observe(ms / 1000)
    const counted = tallies.of(group, cache)
    counted.requests += 1
    counted.bytes += bytes
    if (cost !== undefined) counted.saved += cost / 1000
  }
}

/** Tallies by group and word of the cache; the library's counters take what they hold when somebody looks. */
function tally(registers: Registry[]): Series<Tally> {
  const known: { readonly group: string; readonly status: string; readonly tally: Tally }[] = []
  const counter = (name: keyof Tally, labelNames: readonly ('group' | 'status')[], [metric, help]: [string, string]) =>
    new Counter({
      name: metric,
      help,
      labelNames,
      registers,
      collect() {
        for (const { group, status, tally } of known) {
          this.inc(labelNames.includes('status') ? { group, status } : { group }, tally[name])
          tally[name] = 0
        }
      },
    })
  counter(
    'requests',
    ['group', 'status'],
    [
      'edge_cache_requests_total',
      'Requests by cache group and by how the cache dealt with them; their sum is all requests.',
    ],
  )
  counter('bytes', ['group'], ['edge_sent_bytes_total', 'Bytes of bodies sent to clients.'])
  counter(
    'saved',
    ['group'],
    ['edge_cache_saved_seconds_total', 'Time of nodes that answers out of the cache had cost when they were fetched.'],
  )
  return new Series(([group, status]) => {
    const tally: Tally = { requests: 0, bytes: 0, saved: 0 }
    known.push({ group: String(group), status: String(status), tally })
    return tally
  })
}
