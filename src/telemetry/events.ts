/**
 * The event emitter of the process: all rooms emit here. The log and the audit listen at once; metrics, the console and problems
 * get the events in batches. The requests that have ended pass through a ring of the last ones. `RequestCounts` counts them
 * since the start, for /metrics and the console, in histograms that are fine enough for the buckets of both.
 */
import { type EventListeners, type NodeCallEvent, type RequestEvent, wasSent } from '../core/events.ts'
import { BUCKET_BOUNDS_MS, bucketOf } from '../core/latency-buckets.ts'
import { systemClock } from '../core/timing.ts'
import type { RecordStages, Span } from '../core/trace.ts'
import { EventQueue } from './event-queue.ts'
import type { HistogramCounts } from './metrics/read-histogram.ts'
import { RequestRing } from './request-ring.ts'

export type EdgeEvents = ReturnType<typeof createEdgeEvents>

/** How long events wait for the listeners that count. */
const BATCH_INTERVAL_MS = 250

/** A listener has thrown `error` for an event of this kind; the other listeners get it nevertheless. */
type OnListenerError = (error: unknown, kind: keyof EventListeners, requestId?: string) => void

export function createEdgeEvents(onError: OnListenerError = throwLater) {
  const report = (error: unknown, kind: keyof EventListeners, event: unknown) =>
    onError(error, kind, kind === 'request' ? (event as RequestEvent).requestId : undefined)
  const queue = new EventQueue(report, (drain) => setTimeout(drain, BATCH_INTERVAL_MS).unref())
  const requests = new RequestRing(new EventQueue(report, setImmediate), queue)
  let all: readonly EventListeners[] = []
  let stages: RecordStages | undefined
  /** The caller of an emitter has its own work to do, which must not end with an error of a listener. */
  const emitterOf = <Kind extends keyof EventListeners>(kind: Kind): Required<EventListeners>[Kind] => {
    const emit = (event: never): void => {
      for (const each of all) {
        try {
          ;(each[kind] as ((event: never) => void) | undefined)?.call(each, event)
        } catch (error) {
          onError(error, kind)
        }
      }
      queue.add({ kind, event, at: systemClock.elapsed() })
    }
    return emit as Required<EventListeners>[Kind]
  }
  return {
    /** The functions that the other rooms call when an event happens. They never throw. */
    emit: {
      request: requests.add,
      nodeCall: emitterOf('nodeCall'),
      ejection: emitterOf('ejection'),
      layoutChange: emitterOf('layoutChange'),
      join: emitterOf('join'),
      failedLogin: emitterOf('failedLogin'),
      cache: emitterOf('cache'),
      redisStep: emitterOf('redisStep'),
      storeEvent: emitterOf('storeEvent'),
      operation: emitterOf('operation'),
      uncaughtConnectionError: emitterOf('uncaughtConnectionError'),
    },
    /**
     * Calls the listeners for each event from now on. Returns the function that removes them. Listeners must not block. They
     * run synchronously, except those of requests.
     */
    on: (listeners: EventListeners): (() => void) => {
      all = [...all, listeners]
      const off = listeners.request && requests.on(listeners.request.bind(listeners))
      return () => {
        all = all.filter((each) => each !== listeners)
        off?.()
      }
    },
    /** As `on`, for listeners that count: they get the events in batches, at `requests.drain` or up to 250 ms later. */
    collect: (listeners: EventListeners) => queue.on(listeners),
    requests,
    /** Begins the stages of a request, as the recorder of stages does. Undefined: there is none. */
    beginStages: (requestId: string, trace: Span | undefined) => stages?.(requestId, trace),
    recordStages: (record: RecordStages | undefined): void => {
      stages = record
    },
  }
}

/** As an uncaught error: thrown at once, it would end the batch of events, and the work of the function that emits. */
function throwLater(error: unknown): void {
  setImmediate(() => {
    throw error
  })
}

/** A cache hit takes less than one millisecond, so these start below the buckets that OpenTelemetry recommends. */
export const REQUEST_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
const REQUEST_BOUNDS_MS = REQUEST_SECONDS.map((seconds) => seconds * 1000)

const BOUNDS_MS = Float64Array.from(new Set([...BUCKET_BOUNDS_MS, ...REQUEST_BOUNDS_MS])).sort()
/** Of each of these buckets, and of the one beyond them: the bucket of /metrics that contains it. */
const METRICS_BUCKETS = [...BOUNDS_MS, Number.POSITIVE_INFINITY].map((bound) => bucketOf(REQUEST_BOUNDS_MS, bound))

/** The requests with the same labels. */
export type RequestCell = ReturnType<typeof createCell>

function createCell({ method, route, group, status, cache }: RequestEvent) {
  return {
    ...{ method, route, group, status, cache, isHit: cache === 'hit' || cache === 'stale', requests: 0, bytes: 0 },
    /** Milliseconds: of all requests, and those in which nodes produced the stored responses that were served. */
    ...{ ms: 0, fetchTime: 0 },
    /** By bucket. */
    counts: new Float64Array(BOUNDS_MS.length + 1),
  }
}

/** Counts the requests, and the calls to nodes, since the start. */
export class RequestCounts {
  /** The cells of each route, of which there are few: to compare their labels costs less than further lookups. */
  readonly #routes = new Map<string, RequestCell[]>()
  /** Calls that were sent. */
  calls = 0
  /** The upper bounds of the buckets of the cells, in milliseconds. The last bucket has none. */
  readonly bounds = BOUNDS_MS

  readonly request = (event: RequestEvent): void => {
    const cell = this.#cellOf(event)
    const { ms, fetchTime } = event
    const bucket = bucketOf(BOUNDS_MS, ms)
    cell.requests += 1
    cell.ms += ms
    cell.bytes += event.bytes
    if (fetchTime !== undefined) cell.fetchTime += fetchTime
    cell.counts[bucket] = (cell.counts[bucket] ?? 0) + 1
  }

  readonly nodeCall = (call: NodeCallEvent): void => {
    if (wasSent(call)) this.calls += 1
  }

  get cells(): readonly RequestCell[] {
    return [...this.#routes.values()].flat()
  }

  #cellOf(event: RequestEvent): RequestCell {
    const { method, route, group, status, cache } = event
    const cells = this.#routes.get(route) ?? []
    for (const cell of cells) {
      if (cell.status === status && cell.cache === cache && cell.method === method && cell.group === group) return cell
    }
    const cell = createCell(event)
    this.#routes.set(route, [...cells, cell])
    return cell
  }
}

/** Returns the durations of the requests in seconds, in the buckets of `REQUEST_SECONDS`. */
export function durationsOf({ ms, counts }: RequestCell): Omit<HistogramCounts, 'labels'> {
  const durations = { counts: new Float64Array(REQUEST_SECONDS.length + 1), sum: ms / 1000 }
  for (const [at, bucket] of METRICS_BUCKETS.entries()) {
    durations.counts[bucket] = (durations.counts[bucket] ?? 0) + (counts[at] ?? 0)
  }
  return durations
}
