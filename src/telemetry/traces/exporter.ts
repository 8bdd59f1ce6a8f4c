/** Exports spans in batches. The number of pending spans is bounded; spans beyond it are dropped and counted. */
import { JsonTraceSerializer } from '@opentelemetry/otlp-transformer'
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter, type SpanProcessor } from '@opentelemetry/sdk-trace'
import type { CollectorClient, SendResult } from './collector-client.ts'

export interface ExporterOptions {
  readonly collector: CollectorClient
  readonly log: TracesLog
  /** Greatest number of spans that wait or are in flight. */
  readonly maxPending: number
  /** Milliseconds that a span waits for others to share a batch. */
  readonly delay: number
}

export interface TracesLog {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
}

export interface SpanCounts {
  /** Spans that the collector accepted. */
  readonly sent: number
  /** Spans that the collector did not accept, or that exceeded `maxPending`. */
  readonly dropped: number
}

export interface Exporter {
  readonly processor: SpanProcessor
  counts(): SpanCounts
}

const MAX_BATCH_SPANS = 512
/** `ExportResultCode` of the SDK. */
const SUCCESS = { code: 0 }
const FAILED = { code: 1 }
/** The collector client has its own, shorter timeout. The SDK's timer must never fire. */
const NO_TIMEOUT_MS = 2 ** 31 - 1

export function createExporter({ collector, log, maxPending, delay }: ExporterOptions): Exporter {
  let pending = 0
  let sent = 0
  const drops = createDropLog(log)
  const inFlight = new Set<Promise<void>>()
  const exporter: SpanExporter = {
    export: (spans, done) => {
      const posting = post(collector, spans).then((result) => {
        pending -= spans.length
        if (result.ok) {
          sent += spans.length
          drops.recovered()
        } else drops.dropped(spans.length, result.reason)
        inFlight.delete(posting)
        done(result.ok ? SUCCESS : FAILED)
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
  return {
    counts: () => ({ sent, dropped: drops.count() }),
    processor: {
      onStart: () => undefined,
      onEnd: (span) => {
        if (pending >= maxPending) return drops.dropped(1, 'too many pending spans')
        pending += 1
        batches.onEnd(span)
      },
      forceFlush: () => batches.forceFlush(),
      shutdown: () => batches.shutdown(),
    },
  }
}

async function post(collector: CollectorClient, spans: ReadableSpan[]): Promise<SendResult> {
  const batch = JsonTraceSerializer.serializeRequest(spans)
  return batch === undefined ? { ok: false, reason: 'not serialisable' } : collector.send(batch)
}

interface DropLog {
  dropped(spans: number, reason: string): void
  /** A batch was accepted. */
  recovered(): void
  count(): number
}

/** Logs one line when spans begin to be dropped and one when the collector accepts spans again. */
function createDropLog(log: TracesLog): DropLog {
  let dropped = 0
  /** The count before the current period of drops; `undefined`: the last batch was accepted. */
  let before: number | undefined
  return {
    count: () => dropped,
    dropped: (spans, reason) => {
      if (before === undefined) log.warn({ reason }, 'spans are dropped: the collector does not accept them')
      before ??= dropped
      dropped += spans
    },
    recovered: () => {
      if (before !== undefined) log.info({ dropped: dropped - before }, 'the collector accepts spans again')
      before = undefined
    },
  }
}
