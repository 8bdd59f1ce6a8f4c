/** Traces by OpenTelemetry. Loaded only where a collector is set: nobody else waits for the libraries at a start. */
import { randomBytes } from 'node:crypto'
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources'
import { AlwaysOnSampler, RandomIdGenerator, TracerProvider } from '@opentelemetry/sdk-trace'
import { rateBudget } from '../../core/timing.ts'
import type { Span, SpanAttributes } from '../../core/trace.ts'
import { createCollector } from './collector.ts'
import { parentText, readParent, traceIdOf } from './context.ts'
import { createOutbox, type SpanFigures, type TracesLog } from './outbox.ts'
import { serverSpan, UnrecordedSpan } from './span.ts'

export type { SpanFigures, TracesLog } from './outbox.ts'

export interface TracesOptions {
  /** Where spans are posted to. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Of the requests that no trusted proxy has decided about, 0 to 1; and of those at most so many a second. */
  readonly share: number
  readonly perSecond: number
  readonly version: string
  readonly log: TracesLog
}

/** A request as it comes in; the headers are those of a proxy that is trusted, or absent. */
export interface Arrived {
  readonly id: string
  readonly method: string
  readonly scheme: 'http' | 'https'
  readonly protocol: string
  readonly traceparent?: string | undefined
  readonly tracestate?: string | undefined
}

export interface Traces {
  /** `undefined`: nobody traces it. */
  begin(request: Arrived): Span | undefined
  /** What nodes are told of a request that nobody traces. */
  untraced(requestId: string): string | undefined
  figures(): SpanFigures
  /** Sends what is left, for so many milliseconds at most. */
  stop(patience: number): Promise<void>
}

const PATIENCE = 10_000
const DELAY = 1000
const MOST = 4096

export function createTraces({ url, headers, share, perSecond, version, log }: TracesOptions): Traces {
  const collector = createCollector({ url, headers, patience: PATIENCE })
  const outbox = createOutbox({ collector, log, most: MOST, delay: DELAY })
  const random = new RandomIdGenerator()
  let nextTraceId: string | undefined
  const provider = new TracerProvider({
    // Who is sampled is decided before there is a span.
    sampler: new AlwaysOnSampler(),
    resource: defaultResource().merge(
      resourceFromAttributes({ 'service.name': 'manager-edge', 'service.version': version }),
    ),
    spanProcessors: [outbox.processor],
    idGenerator: {
      generateTraceId: () => nextTraceId ?? random.generateTraceId(),
      generateSpanId: () => random.generateSpanId(),
    },
  })
  const tracer = provider.getTracer('manager-edge', version)
  const turn = rateBudget(perSecond, () => performance.now())
  const mine = () => Math.random() < share && turn()
  return {
    figures: outbox.figures,
    begin: ({ id, traceparent, tracestate, ...facts }) => {
      const parent = readParent(traceparent, tracestate)
      if (parent !== undefined && !parent.sampled) return new UnrecordedSpan(parent)
      if (parent === undefined && !mine()) return undefined
      nextTraceId = traceIdOf(id)
      const begun: SpanAttributes = { ...facts, requestId: id }
      const span = serverSpan(tracer, begun, parent)
      nextTraceId = undefined
      return span
    },
    untraced: (requestId) => {
      const traceId = traceIdOf(requestId)
      return traceId === undefined
        ? undefined
        : parentText({ traceId, spanId: randomBytes(8).toString('hex'), flags: 0 })
    },
    stop: async (patience) => {
      const limit = setTimeout(() => void collector.stop(), patience)
      // What could not be sent is counted and told already.
      await provider.shutdown().catch(() => undefined)
      clearTimeout(limit)
      await collector.stop()
    },
  }
}
