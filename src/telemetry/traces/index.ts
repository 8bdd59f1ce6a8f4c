/**
 * Traces with OpenTelemetry. Imported only if a collector is configured, so other processes start without the SDK.
 * Spans are exported in batches. The number of pending spans is bounded; spans beyond it are dropped and counted. They
 * are posted to the collector with OTLP over HTTP, as JSON. The exporter of the SDK is not used: it adds headers and
 * certificates from the environment, and its pending work keeps a finished process alive.
 */
import { randomBytes } from 'node:crypto'
import { JsonTraceSerializer } from '@opentelemetry/otlp-transformer'
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources'
import {
  AlwaysOnSampler,
  BatchSpanProcessor,
  RandomIdGenerator,
  type ReadableSpan,
  type SpanExporter,
  type SpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import { rateBudget } from '../../core/timing.ts'
import type { Span, SpanAttributes } from '../../core/trace.ts'
import { type CollectorClient, createCollectorClient } from './collector-client.ts'
import { formatTraceparent, parseTraceContext, startServerSpan, traceIdOf, UnrecordedSpan } from './span.ts'

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

export interface Traces {
  /** Starts the server span of a request. Returns `undefined` if the request is not sampled. */
  begin(request: IncomingRequest): Span | undefined
  /** Returns the `traceparent`, not sampled, that nodes receive with calls of a request that has no span. */
  untracedTraceparent(requestId: string): string | undefined
  counts(): SpanCounts
  /** Sends the pending spans for at most `timeout` milliseconds. */
  stop(timeout: number): Promise<void>
}

const BATCH_TIMEOUT_MS = 10_000
const BATCH_DELAY_MS = 1000
const MAX_PENDING_SPANS = 4096

export function createTraces({ url, headers, sampling, version, log, delay = BATCH_DELAY_MS }: TracesOptions): Traces {
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
    begin: ({ id, traceparent, tracestate, ...request }) => {
      const parent = parseTraceContext(traceparent, tracestate)
      if (parent !== undefined && !parent.sampled) return new UnrecordedSpan(parent)
      if (parent === undefined && !isSampled()) return undefined
      const attributes: SpanAttributes = { ...request, requestId: id }
      nextTraceId = traceIdOf(id)
      const span = startServerSpan(tracer, attributes, parent)
      nextTraceId = undefined
      return span
    },
    untracedTraceparent: (requestId) => {
      const traceId = traceIdOf(requestId)
      return traceId === undefined
        ? undefined
        : formatTraceparent({ traceId, spanId: randomBytes(8).toString('hex'), flags: 0 })
    },
    stop: async (timeout) => {
      const timer = setTimeout(() => void collector.stop(), timeout)
      // Failures of the last batches are already counted and logged.
      await provider.shutdown().catch(() => undefined)
      clearTimeout(timer)
      await collector.stop()
    },
  }
}

interface ExporterOptions {
  readonly collector: Pick<CollectorClient, 'send'>
  readonly log: TracesLog
  /** Greatest number of spans that wait or are in flight. */
  readonly maxPending: number
  /** Milliseconds that a span waits for others to share a batch. */
  readonly delay: number
}

interface TracesLog {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
}

interface SpanCounts {
  /** Spans that the collector accepted. */
  readonly sent: number
  /** Spans that the collector did not accept, or that exceeded `maxPending`. */
  readonly dropped: number
}

const MAX_BATCH_SPANS = 512
/** `ExportResultCode` of the SDK. */
const SUCCESS = { code: 0 }
const FAILED = { code: 1 }
/** The collector client has its own, shorter timeout. The SDK's timer must never fire. */
const NO_TIMEOUT_MS = 2 ** 31 - 1

function createExporter({ collector, log, maxPending, delay }: ExporterOptions) {
  let pending = 0
  let sent = 0
  const drops = createDropLog(log)
  const inFlight = new Set<Promise<void>>()
  const post = async (spans: ReadableSpan[]): Promise<string | undefined> => {
    const batch = JsonTraceSerializer.serializeRequest(spans)
    return batch === undefined ? 'not serialisable' : collector.send(batch)
  }
  const exporter: SpanExporter = {
    export: (spans, done) => {
      const posting = post(spans).then((fault) => {
        pending -= spans.length
        if (fault === undefined) {
          sent += spans.length
          drops.recovered()
        } else drops.dropped(spans.length, fault)
        inFlight.delete(posting)
        done(fault === undefined ? SUCCESS : FAILED)
      })
      inFlight.add(posting)
    },
    // The SDK waits only for the batches that it flushes at shutdown, not for earlier ones still in flight.
    shutdown: async () => void (await Promise.all(inFlight)),
  }
  const batches = new BatchSpanProcessor({
    exporter,
    maxQueueSize: maxPending,
    maxExportBatchSize: Math.min(MAX_BATCH_SPANS, maxPending),
    scheduledDelayMillis: delay,
    exportTimeoutMillis: NO_TIMEOUT_MS,
  })
  const processor: SpanProcessor = {
    onStart: () => undefined,
    onEnd: (span) => {
      if (pending >= maxPending) return drops.dropped(1, 'too many pending spans')
      pending += 1
      batches.onEnd(span)
    },
    forceFlush: () => batches.forceFlush(),
    shutdown: () => batches.shutdown(),
  }
  return { processor, counts: (): SpanCounts => ({ sent, dropped: drops.count() }) }
}

/** Logs one line when spans begin to be dropped and one when the collector accepts spans again. */
function createDropLog(log: TracesLog) {
  let dropped = 0
  /** The count before the current period of drops; `undefined`: the last batch was accepted. */
  let before: number | undefined
  return {
    count: () => dropped,
    dropped: (spans: number, reason: string): void => {
      if (before === undefined) log.warn({ reason }, 'spans are dropped: the collector does not accept them')
      before ??= dropped
      dropped += spans
    },
    /** A batch was accepted. */
    recovered: (): void => {
      if (before !== undefined) log.info({ dropped: dropped - before }, 'the collector accepts spans again')
      before = undefined
    },
  }
}
