/**
 * Exports spans in batches. The number of pending spans is bounded; spans beyond it are dropped and counted. They are posted
 * to an OpenTelemetry collector with OTLP over HTTP, as JSON. The exporter of the SDK is not used: it adds headers and
 * certificates from the environment, and its pending work keeps a finished process alive.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { JsonTraceSerializer } from '@opentelemetry/otlp-transformer'
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter, type SpanProcessor } from '@opentelemetry/sdk-trace'
import { Pool } from 'undici'
import { type Deadline, startDeadline } from '../../core/timing.ts'

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

export interface CollectorClientOptions {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Milliseconds for one batch, with all its attempts. */
  readonly timeout: number
}

/** `reason`: short, for the log. */
export type SendResult = { readonly ok: true } | { readonly ok: false; readonly reason: string }

export interface CollectorClient {
  /** Never rejects. */
  send(batch: Uint8Array): Promise<SendResult>
  /** Aborts the batches in flight and closes the connections. */
  stop(): Promise<void>
}

/** OTLP specification, section "Retryable Response Codes". */
const RETRYABLE_STATUS: ReadonlySet<number> = new Set([429, 502, 503, 504])
/** Milliseconds before the second and the third attempt. */
const RETRY_DELAYS_MS = [1000, 2000]
/** The body of a response is read to free the connection, and discarded. */
const MAX_RESPONSE_BYTES = 65_536

export function createCollectorClient({ url, headers, timeout }: CollectorClientOptions): CollectorClient {
  const { origin, pathname } = new URL(url)
  const pool = new Pool(origin, {
    connections: 2,
    pipelining: 1,
    connect: { timeout, rejectUnauthorized: true },
  })
  const stopped = new AbortController()
  const allHeaders = { ...headers, 'content-type': 'application/json', 'user-agent': 'manager-edge' }

  const post = async (body: Uint8Array, signal: AbortSignal): Promise<number> => {
    const response = await pool.request({ method: 'POST', path: pathname, headers: allHeaders, body, signal })
    await response.body.dump({ limit: MAX_RESPONSE_BYTES, signal })
    return response.statusCode
  }
  const attempts = async (batch: Uint8Array, deadline: Deadline): Promise<SendResult> => {
    const { signal } = deadline
    for (let attempt = 0; ; attempt += 1) {
      const outcome = await post(batch, signal).catch((fault: unknown) => fault)
      const delay = RETRY_DELAYS_MS[attempt]
      if (!isRetryable(outcome) || signal.aborted || delay === undefined) return resultOf(outcome, deadline)
      await sleep(delay, undefined, { signal, ref: false }).catch(() => undefined)
      if (signal.aborted) return resultOf(outcome, deadline)
    }
  }
  return {
    send: async (batch) => {
      const deadline = startDeadline(timeout, stopped.signal, () => performance.now())
      try {
        return await attempts(batch, deadline)
      } finally {
        deadline.end()
      }
    },
    stop: async () => {
      stopped.abort()
      await pool.destroy()
    },
  }
}

/** `outcome`: the status of the response, or why there was none. */
function isRetryable(outcome: unknown): boolean {
  return typeof outcome !== 'number' || RETRYABLE_STATUS.has(outcome)
}

/** The log gets a status or an error code, never text that the collector sent. */
function resultOf(outcome: unknown, deadline: Deadline): SendResult {
  if (typeof outcome !== 'number') return { ok: false, reason: reasonOf(outcome, deadline) }
  return outcome >= 200 && outcome <= 299 ? { ok: true } : { ok: false, reason: `status ${outcome}` }
}

function reasonOf(fault: unknown, deadline: Deadline): string {
  // An aborted request rejects with the reason of the signal.
  if (!(fault instanceof Error) || fault === deadline.signal.reason)
    return deadline.fault() === 'timeout' ? 'timed out' : 'stopped'
  return 'code' in fault && typeof fault.code === 'string' ? fault.code : fault.name
}
