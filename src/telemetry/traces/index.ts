/**
 * Traces with OpenTelemetry. Imported only if a collector is configured, so other processes start without the SDK.
 * Spans are exported in batches. The number of pending spans is bounded; spans beyond it are dropped and counted. They
 * are posted to the collector with OTLP over HTTP, as JSON. The exporter of the SDK is not used: it adds headers and
 * certificates from the environment, and its pending work keeps a finished process alive.
 */
import { randomBytes } from 'node:crypto'
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources'
import { AlwaysOnSampler, RandomIdGenerator, TracerProvider } from '@opentelemetry/sdk-trace'
import { rateBudget } from '../../core/timing.ts'
import type { Span, SpanAttributes } from '../../core/trace.ts'
import { createCollectorClient } from './collector-client.ts'
import { createExporter, type TracesLog } from './exporter.ts'
import { startServerSpan, UnrecordedSpan } from './span.ts'
import { formatTraceparent, parseTraceContext, traceIdOf } from './trace-context.ts'

interface TracesOptions {
  /** Where spans are posted to. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly sampling: () => {
    /** Share of requests that are sampled, 0 to 1; requests with a trusted `traceparent` follow its sampled flag. */
    readonly sampleRatio: number
    /** Greatest number of requests per second that are sampled by `sampleRatio`. */
    readonly maxPerSecond: number
  }
  readonly version: string
  readonly log: TracesLog
  /** Milliseconds from the end of a span until it is sent. */
  readonly delay?: number
}

interface IncomingRequest {
  readonly id: string
  readonly method: string
  readonly scheme: 'http' | 'https'
  readonly protocol: string
  /** The headers, if a trusted proxy sent them. */
  readonly traceparent?: string | undefined
  readonly tracestate?: string | undefined
}

export type Traces = ReturnType<typeof createTraces>

const BATCH_TIMEOUT_MS = 10_000
const BATCH_DELAY_MS = 1000
const MAX_PENDING_SPANS = 4096

export function createTraces({ url, headers, sampling, version, log, delay = BATCH_DELAY_MS }: TracesOptions) {
  const collector = createCollectorClient({ url, headers, timeout: BATCH_TIMEOUT_MS })
  const exporter = createExporter({ collector, log, maxPending: MAX_PENDING_SPANS, delay })
  const random = new RandomIdGenerator()
  /** The SDK has no parameter for the id of a new trace; its id generator reads it here. */
  let nextTraceId: string | undefined
  const provider = new TracerProvider({
    // `begin` decides which requests are sampled.
    sampler: new AlwaysOnSampler(),
    resource: defaultResource().merge(
      resourceFromAttributes({ 'service.name': 'manager-edge', 'service.version': version }),
    ),
    spanProcessors: [exporter.processor],
    idGenerator: {
      generateTraceId: () => nextTraceId ?? random.generateTraceId(),
      generateSpanId: () => random.generateSpanId(),
    },
  })
  const tracer = provider.getTracer('manager-edge', version)
  const takeBudget = rateBudget(
    () => sampling().maxPerSecond,
    () => performance.now(),
  )
  const isSampled = () => Math.random() < sampling().sampleRatio && takeBudget()
  return {
    counts: exporter.counts,
    /** Starts the server span of a request. Returns `undefined` if the request is not sampled. */
    begin: ({ id, traceparent, tracestate, ...request }: IncomingRequest): Span | undefined => {
      const parent = parseTraceContext(traceparent, tracestate)
      if (parent !== undefined && !parent.sampled) return new UnrecordedSpan(parent)
      if (parent === undefined && !isSampled()) return undefined
      const attributes: SpanAttributes = { ...request, requestId: id }
      nextTraceId = traceIdOf(id)
      const span = startServerSpan(tracer, attributes, parent)
      nextTraceId = undefined
      return span
    },
    /** Returns the `traceparent`, not sampled, that nodes receive with calls of a request that has no span. */
    untracedTraceparent: (requestId: string): string | undefined => {
      const traceId = traceIdOf(requestId)
      return traceId === undefined
        ? undefined
        : formatTraceparent({ traceId, spanId: randomBytes(8).toString('hex'), flags: 0 })
    },
    /** Sends the pending spans for at most `timeout` milliseconds. */
    stop: async (timeout: number): Promise<void> => {
      const timer = setTimeout(() => void collector.stop(), timeout)
      // Failures of the last batches are already counted and logged.
      await provider.shutdown().catch(() => undefined)
      clearTimeout(timer)
      await collector.stop()
    },
  }
}
