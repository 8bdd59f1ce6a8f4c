/** A collector of spans on loopback, and helpers that read its traces. */
import http, { type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import { eventually } from '../../../support/eventually.ts'

export interface Received {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  /** OTLP: 1 internal, 2 server, 3 client. */
  readonly kind: number
  readonly attributes: Readonly<Record<string, unknown>>
  /** 0 unset, 2 error. */
  readonly status: number
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[]
  readonly traceState?: string
  readonly start: bigint
  readonly end: bigint
}

export interface Collector {
  readonly url: string
  readonly spans: Received[]
  /** The requests and their bodies. */
  readonly requests: IncomingMessage[]
  readonly bodies: string[]
  /** Sets how the collector responds from now on; `undefined`: as a collector does. */
  answer(listener: RequestListener | undefined): void
  /** Resolves with all spans of a trace once its server span has arrived. */
  trace(traceId: string): Promise<readonly Received[]>
}

export const KINDS = { internal: 1, server: 2, client: 3 } as const

export async function startCollector(t: Pick<Test, 'teardown'>): Promise<Collector> {
  const spans: Received[] = []
  const requests: IncomingMessage[] = []
  const bodies: string[] = []
  let other: RequestListener | undefined
  const server = http.createServer(async (request, response) => {
    requests.push(request)
    if (other !== undefined) return other(request, response)
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks).toString()
    bodies.push(body)
    spans.push(...spansIn(body))
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  })
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const of = (traceId: string) => spans.filter((span) => span.traceId === traceId)
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    requests,
    bodies,
    answer: (listener) => {
      other = listener
    },
    trace: async (traceId) => {
      await eventually(() => of(traceId).some(({ kind }) => kind === KINDS.server))
      return of(traceId)
    },
  }
}

/** Returns the span names as a tree: `{ 'GET /agents': ['authenticate', …] }`, children by their start. */
export function treeOf(spans: readonly Received[]): unknown {
  const root = spans.find(({ parentSpanId }) => !spans.some(({ spanId }) => spanId === parentSpanId))
  return root && branchOf(root, spans)
}

function branchOf(span: Received, spans: readonly Received[]): unknown {
  const children = spans
    .filter(({ parentSpanId }) => parentSpanId === span.spanId)
    .sort((a, b) => (a.start < b.start ? -1 : a.start > b.start ? 1 : 0))
  return children.length === 0 ? span.name : { [span.name]: children.map((each) => branchOf(each, spans)) }
}

interface Otlp {
  readonly resourceSpans: readonly { readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[] }[]
}

interface OtlpSpan extends Omit<Received, 'attributes' | 'status' | 'start' | 'end' | 'links'> {
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[]
  readonly status: { readonly code?: number }
  readonly links?: Received['links']
}

function spansIn(body: string): Received[] {
  const { resourceSpans } = JSON.parse(body) as Otlp
  const all = resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))
  return all.map(({ attributes, status, startTimeUnixNano, endTimeUnixNano, links = [], ...span }) => ({
    ...span,
    links,
    attributes: Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]])),
    status: status.code ?? 0,
    start: BigInt(startTimeUnixNano),
    end: BigInt(endTimeUnixNano),
  }))
}
