/** Spans on their way to the collector: bounded, counted, and never in the way of a request. */
import { JsonTraceSerializer } from '@opentelemetry/otlp-transformer'
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter, type SpanProcessor } from '@opentelemetry/sdk-trace'
import type { Collector, Sent } from './collector.ts'

export interface OutboxOptions {
  readonly collector: Collector
  readonly log: TracesLog
  /** Spans that wait or are under way, at most. */
  readonly most: number
  /** Milliseconds that a span waits for others. */
  readonly delay: number
}

export interface TracesLog {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
}

export interface SpanFigures {
  readonly sent: number
  readonly dropped: number
}

export interface Outbox {
  readonly processor: SpanProcessor
  figures(): SpanFigures
}

const BATCH = 512
/** As the SDK's own words: ExportResultCode. */
const DONE = { code: 0 }
const FAILED = { code: 1 }
/** The collector's patience is shorter; this timer of the SDK is never to be the one that decides. */
const NEVER = 2 ** 31 - 1

export function createOutbox({ collector, log, most, delay }: OutboxOptions): Outbox {
  let pending = 0
  let sent = 0
  const losses = createLosses(log)
  const underWay = new Set<Promise<void>>()
  const exporter: SpanExporter = {
    export: (spans, done) => {
      const posting = post(collector, spans).then((outcome) => {
        pending -= spans.length
        if (outcome.ok) {
          sent += spans.length
          losses.over()
        } else losses.lost(spans.length, outcome.why)
        underWay.delete(posting)
        done(outcome.ok ? DONE : FAILED)
      })
      underWay.add(posting)
    },
    // The SDK waits for the last batches alone, not for one that was under way before.
    shutdown: async () => void (await Promise.all(underWay)),
  }
  const batches = new BatchSpanProcessor({
    exporter,
    maxQueueSize: most,
    maxExportBatchSize: Math.min(BATCH, most),
    scheduledDelayMillis: delay,
    exportTimeoutMillis: NEVER,
  })
  return {
    figures: () => ({ sent, dropped: losses.count() }),
    processor: {
      onStart: () => undefined,
      onEnd: (span) => {
        if (pending >= most) return losses.lost(1, 'too many at once')
        pending += 1
        batches.onEnd(span)
      },
      forceFlush: () => batches.forceFlush(),
      shutdown: () => batches.shutdown(),
    },
  }
}

async function post(collector: Collector, spans: ReadableSpan[]): Promise<Sent> {
  const batch = JsonTraceSerializer.serializeRequest(spans)
  return batch === undefined ? { ok: false, why: 'unwritable' } : collector.send(batch)
}

interface Losses {
  lost(spans: number, why: string): void
  /** A batch was taken. */
  over(): void
  count(): number
}

/** One line when it begins and one when it ends, however many are lost in between. */
function createLosses(log: TracesLog): Losses {
  let dropped = 0
  let before: number | undefined
  return {
    count: () => dropped,
    lost: (spans, why) => {
      if (before === undefined) log.warn({ why }, 'spans are dropped: the collector does not take them')
      before ??= dropped
      dropped += spans
    },
    over: () => {
      if (before !== undefined) log.info({ dropped: dropped - before }, 'the collector takes spans again')
      before = undefined
    },
  }
}
