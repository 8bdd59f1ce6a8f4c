/** Facts in the words of OpenTelemetry's semantic conventions for HTTP; the edge's own words begin with `edge.`. */
import { type Attributes, type SpanStatus, SpanStatusCode } from '@opentelemetry/api'
import type { SpanAttributes } from '../../core/trace.ts'

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
