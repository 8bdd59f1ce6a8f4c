import {
  type Attributes,
  type Context,
  createTraceState,
  type Span as Recorded,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  type SpanStatus,
  SpanStatusCode,
  type Tracer,
  trace as traces,
} from '@opentelemetry/api'
import type { Span, SpanAttributes, StageName } from '../../core/trace.ts'
import { type Parent, parentText, SAMPLED } from './context.ts'

/** The spans of a request: those that are recorded, and the place of one that nobody records. */

const kinds = { server: SpanKind.SERVER, client: SpanKind.CLIENT, inner: SpanKind.INTERNAL } as const

interface Place {
  readonly kind: Kind
  readonly span: Recorded
  readonly flags: number
  readonly state?: string | undefined
}

export class RecordedSpan implements Span {
  readonly traceId: string
  readonly parent: string
  declare readonly state?: string
  readonly recorded = true
  readonly #tracer: Tracer
  readonly #place: Place

  constructor(tracer: Tracer, place: Place) {
    const { traceId, spanId } = place.span.spanContext()
    this.#tracer = tracer
    this.#place = place
    this.traceId = traceId
    this.parent = parentText({ traceId, spanId, flags: place.flags })
    if (place.state !== undefined) this.state = place.state
  }

  startSpan(stage: StageName, facts: SpanAttributes = {}): Span {
    return this.#below('inner', stage, facts)
  }

  startCallSpan(facts: SpanAttributes): Span {
    return this.#below('client', nameOf(facts), facts)
  }

  startLinkedTrace(stage: StageName): Span {
    const links = [{ context: this.#place.span.spanContext() }]
    const span = this.#tracer.startSpan(stage, { links }, ROOT_CONTEXT)
    return new RecordedSpan(this.#tracer, { kind: 'inner', span, flags: SAMPLED })
  }

  end(facts: SpanAttributes = {}): void {
    const { span, kind } = this.#place
    span.setAttributes(attributesOf(facts, kind))
    span.setStatus(statusOf(facts, kind))
    if (kind === 'server') span.updateName(nameOf(facts))
    span.end()
  }

  #below(kind: Kind, name: string, facts: SpanAttributes): Span {
    const attributes = attributesOf(facts, kind)
    const here = traces.setSpan(ROOT_CONTEXT, this.#place.span)
    const span = this.#tracer.startSpan(name, { kind: kinds[kind], attributes }, here)
    return new RecordedSpan(this.#tracer, { ...this.#place, kind, span })
  }
}

/** The span of a request; `parent`: that of the proxy which sent it. */
export function serverSpan(tracer: Tracer, facts: SpanAttributes, parent: Parent | undefined): Span {
  const attributes = attributesOf(facts, 'server')
  const span = tracer.startSpan(nameOf(facts), { kind: SpanKind.SERVER, attributes }, contextOf(parent))
  const { flags = SAMPLED, state } = parent ?? {}
  return new RecordedSpan(tracer, { kind: 'server', span, flags, state })
}

function contextOf(parent: Parent | undefined): Context {
  if (parent === undefined) return ROOT_CONTEXT
  const { traceId, spanId, state } = parent
  const remote: SpanContext = { traceId, spanId, traceFlags: SAMPLED, isRemote: true }
  return traces.setSpanContext(
    ROOT_CONTEXT,
    state === undefined ? remote : { ...remote, traceState: createTraceState(state) },
  )
}

/** A proxy decided that nobody is to record this; nodes are told where they are, and no more. */
export class UnrecordedSpan implements Span {
  readonly traceId: string
  readonly parent: string
  declare readonly state?: string
  readonly recorded = false

  constructor(parent: Parent) {
    this.traceId = parent.traceId
    this.parent = parentText(parent)
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

/** Facts in the words of OpenTelemetry's semantic conventions for HTTP; the edge's own words begin with `edge.`. */

export type Kind = 'server' | 'client' | 'inner'

const common: Readonly<
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

/** A template stands under another name where it is that of a request which goes out. */
const route = { server: 'http.route', client: 'url.template', inner: 'http.route' } as const
const node = { server: 'edge.node', client: 'server.address', inner: 'edge.node' } as const

export function attributesOf(facts: SpanAttributes, kind: Kind): Attributes {
  const attributes: Attributes = {}
  for (const [fact, name] of Object.entries(common)) {
    const value = facts[fact as keyof typeof common]
    if (value !== undefined) attributes[name] = value
  }
  if (facts.route !== undefined && facts.route !== 'unknown') attributes[route[kind]] = facts.route
  if (facts.node !== undefined) attributes[node[kind]] = facts.node
  if (facts.method !== undefined) attributes['http.request.method'] = methodOf(facts)
  if (facts.status) attributes['http.response.status_code'] = facts.status
  const failure = failureOf(facts, kind)
  if (failure !== undefined) attributes['error.type'] = failure
  return attributes
}

/** `{method} {template}`: a name that takes few values, whatever clients send. */
export function nameOf({ method, route }: SpanAttributes): string {
  const verb = method === 'other' ? 'HTTP' : (method ?? 'HTTP')
  return route === undefined || route === 'unknown' ? verb : `${verb} ${route}`
}

/** A server is at fault from 500 on, whom it called from 400 on. */
export function statusOf(facts: SpanAttributes, kind: Kind): SpanStatus {
  return { code: failureOf(facts, kind) === undefined ? SpanStatusCode.UNSET : SpanStatusCode.ERROR }
}

function failureOf({ status = 0, fault }: SpanAttributes, kind: Kind): string | undefined {
  if (fault !== undefined) return fault
  if (kind === 'inner') return undefined
  return status >= (kind === 'server' ? 500 : 400) ? String(status) : undefined
}

function methodOf({ method = 'other' }: SpanAttributes): string {
  return method === 'other' ? '_OTHER' : method
}
