/**
 * The spans of a request, with attributes in the semantic conventions of OpenTelemetry; others begin with `edge.`. And
 * the headers that connect them with the spans of a proxy and of nodes.
 */
import {
  type Attributes,
  type Context,
  createTraceState,
  type Span as OtelSpan,
  trace as otelTrace,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  type Tracer,
} from '@opentelemetry/api'
import type { Span, SpanAttributes, StageName } from '../../core/trace.ts'
import { formatTraceparent, type ParentContext, SAMPLED_FLAG } from './trace-context.ts'

type Kind = 'server' | 'client' | 'internal'

const OTEL_KINDS = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL } as const

interface SpanState {
  readonly kind: Kind
  readonly span: OtelSpan
  /** Trace flags and `tracestate` for the calls to nodes. */
  readonly flags: number
  readonly state?: string | undefined
}

class RecordedSpan implements Span {
  readonly traceId: string
  readonly parent: string
  declare readonly state?: string
  readonly recorded = true
  readonly #tracer: Tracer
  readonly #own: SpanState

  constructor(tracer: Tracer, own: SpanState) {
    const { traceId, spanId } = own.span.spanContext()
    this.#tracer = tracer
    this.#own = own
    this.traceId = traceId
    this.parent = formatTraceparent({ traceId, spanId, flags: own.flags })
    if (own.state !== undefined) this.state = own.state
  }

  startSpan(stage: StageName, attributes: SpanAttributes = {}): Span {
    return this.#startChild('internal', stage, attributes)
  }

  startCallSpan(attributes: SpanAttributes): Span {
    return this.#startChild('client', nameOf(attributes), attributes)
  }

  startLinkedTrace(stage: StageName): Span {
    const links = [{ context: this.#own.span.spanContext() }]
    const span = this.#tracer.startSpan(stage, { links }, ROOT_CONTEXT)
    return new RecordedSpan(this.#tracer, { kind: 'internal', span, flags: SAMPLED_FLAG })
  }

  end(attributes: SpanAttributes = {}): void {
    const { span, kind } = this.#own
    span.setAttributes(otelAttributesOf(attributes, kind))
    const isError = errorTypeOf(attributes, kind) !== undefined
    span.setStatus({ code: isError ? SpanStatusCode.ERROR : SpanStatusCode.UNSET })
    if (kind === 'server') span.updateName(nameOf(attributes))
    span.end()
  }

  #startChild(kind: Kind, name: string, attributes: SpanAttributes): Span {
    const options = { kind: OTEL_KINDS[kind], attributes: otelAttributesOf(attributes, kind) }
    const span = this.#tracer.startSpan(name, options, otelTrace.setSpan(ROOT_CONTEXT, this.#own.span))
    return new RecordedSpan(this.#tracer, { ...this.#own, kind, span })
  }
}

/** Starts the span of a request; `parent` is the span of the trusted proxy that sent the request. */
export function startServerSpan(tracer: Tracer, attributes: SpanAttributes, parent: ParentContext | undefined): Span {
  const options = { kind: SpanKind.SERVER, attributes: otelAttributesOf(attributes, 'server') }
  const span = tracer.startSpan(nameOf(attributes), options, contextOf(parent))
  const { flags = SAMPLED_FLAG, state } = parent ?? {}
  return new RecordedSpan(tracer, { kind: 'server', span, flags, state })
}

function contextOf(parent: ParentContext | undefined): Context {
  if (parent === undefined) return ROOT_CONTEXT
  const { traceId, spanId, state } = parent
  const remote: SpanContext = { traceId, spanId, traceFlags: SAMPLED_FLAG, isRemote: true }
  return otelTrace.setSpanContext(
    ROOT_CONTEXT,
    state === undefined ? remote : { ...remote, traceState: createTraceState(state) },
  )
}

/** A span of a trace that the proxy does not sample: nodes receive the context of the proxy, nothing is recorded. */
export class UnrecordedSpan implements Span {
  readonly traceId: string
  readonly parent: string
  declare readonly state?: string
  readonly recorded = false

  constructor(parent: ParentContext) {
    this.traceId = parent.traceId
    this.parent = formatTraceparent(parent)
    if (parent.state !== undefined) this.state = parent.state
  }

  startSpan(): Span {
    return this
  }

  startCallSpan(): Span {
    return this
  }

  startLinkedTrace(): Span {
    return this
  }

  end(): void {}
}

/** Attributes whose name and value do not depend on the kind of the span. */
const OTEL_NAMES: Readonly<
  Record<Exclude<keyof SpanAttributes, 'route' | 'node' | 'method' | 'status' | 'fault'>, string>
> = {
  requestId: 'edge.request.id',
  scheme: 'url.scheme',
  protocol: 'network.protocol.version',
  group: 'edge.group',
  cache: 'edge.cache',
  stored: 'edge.cache.stored',
  collapsed: 'edge.cache.collapsed',
  resend: 'http.request.resend_count',
  error: 'edge.error.code',
}
const ROUTE_NAMES = { server: 'http.route', client: 'url.template', internal: 'http.route' } as const
const NODE_NAMES = { server: 'edge.node', client: 'server.address', internal: 'edge.node' } as const

function otelAttributesOf(attributes: SpanAttributes, kind: Kind): Attributes {
  const { route, node, method, status } = attributes
  const result: Attributes = {}
  for (const [key, name] of Object.entries(OTEL_NAMES)) {
    const value = attributes[key as keyof typeof OTEL_NAMES]
    if (value !== undefined) result[name] = value
  }
  if (route !== undefined && route !== 'unknown') result[ROUTE_NAMES[kind]] = route
  if (node !== undefined) result[NODE_NAMES[kind]] = node
  if (method !== undefined) result['http.request.method'] = method === 'other' ? '_OTHER' : method
  if (status) result['http.response.status_code'] = status
  const errorType = errorTypeOf(attributes, kind)
  if (errorType !== undefined) result['error.type'] = errorType
  return result
}

/** Returns `{method} {template}`, a name of few values whatever clients send. */
function nameOf({ method, route }: SpanAttributes): string {
  const verb = method === undefined || method === 'other' ? 'HTTP' : method
  return route === undefined || route === 'unknown' ? verb : `${verb} ${route}`
}

/** By the conventions, a server span is an error from status 500 on, a client span from 400 on. */
function errorTypeOf({ status = 0, fault }: SpanAttributes, kind: Kind): string | undefined {
  if (fault !== undefined) return fault
  if (kind === 'internal') return undefined
  return status >= (kind === 'server' ? 500 : 400) ? String(status) : undefined
}
