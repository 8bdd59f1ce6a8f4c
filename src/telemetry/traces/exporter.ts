/** Exports spans in batches; spans beyond the bound are dropped, counted and logged. */
import { JsonTraceSerializer } from '@opentelemetry/otlp-transformer'
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter, type SpanProcessor } from '@opentelemetry/sdk-trace'
import type { CollectorClient } from './collector-client.ts'

interface ExporterOptions {
  readonly collector: Pick<CollectorClient, 'send'>
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

const MAX_BATCH_SPANS = 512
/** `ExportResultCode` of the SDK. */
const SUCCESS = { code: 0 }
const FAILED = { code: 1 }
/** The collector client has its own, shorter timeout. The SDK's timer must never fire. */
const NO_TIMEOUT_MS = 2 ** 31 - 1

export function createExporter({ collector, log, maxPending, delay }: ExporterOptions) {
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
  /** `sent`: spans that the collector accepted. `dropped`: spans that it did not accept, or that exceeded `maxPending`. */
  const counts = () => ({ sent, dropped: drops.count() })
  return { processor, counts }
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
