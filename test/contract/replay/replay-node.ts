import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Exchange } from './exchanges.ts'

/** A call on the node in canonical form: without flags, padded ids, sorted names. */
export interface SeenCall {
  readonly method: string
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/**
 * A node that replays one recorded exchange at a time. An unexpected call gets status 599, so that it cannot be
 * mistaken for the recorded response.
 */
export class ReplayNode {
  readonly #server: Server
  readonly calls: SeenCall[] = []
  expected: Exchange | undefined
  /** Answers discovery independent of the expected call. */
  readonly #nodes: string

  constructor(nodes: string) {
    this.#nodes = nodes
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        const call = seen(request, Buffer.concat(chunks).toString())
        if (call.path === '/cluster/nodes' && !this.#expects(call)) return reply(response, 200, this.#nodes)
        this.calls.push(call)
        const recorded = this.#expects(call) ? this.expected?.response : undefined
        if (recorded === undefined) return reply(response, 599, `not expected: ${call.method} ${call.path}`)
        if (recorded.headers['content-type']?.startsWith('text/xml')) {
          response.writeHead(recorded.status, { 'content-type': 'text/xml' }).end(recorded.body)
        } else reply(response, recorded.status, plain(recorded.body))
      })
    })
  }

  #expects(call: SeenCall): boolean {
    if (this.expected === undefined) return false
    const { method, path } = this.expected.request
    const wanted = canonical(method === 'HEAD' ? 'GET' : method, path)
    const got = canonical(call.method, `${call.path}?${new URLSearchParams(call.query)}`)
    return wanted === got || twin(wanted) === got
  }

  async listen(): Promise<string> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }
}

function reply(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(body)
}

/** Returns the body without `pretty`; for a recorded HEAD, which has no body, an envelope. */
function plain(body: string | null): string {
  return body === null || body === '' ? '{"error":0,"data":{}}' : JSON.stringify(JSON.parse(body))
}

function seen(request: IncomingMessage, body: string): SeenCall {
  const url = new URL(request.url ?? '/', 'http://node')
  const query = Object.fromEntries(url.searchParams)
  return { method: request.method ?? '', path: url.pathname, query, headers: request.headers, body }
}

/** The edge calls the master by its own address, so `/cluster/master/x` becomes `/manager/x`. */
function twin(request: string): string {
  return request.replace(' /cluster/master/', ' /manager/')
}

/** Returns method, path and query as the manager interprets them. */
function canonical(method: string, raw: string): string {
  const [path = '', text = ''] = raw.split(/\?(.*)/s)
  const segments = path
    .replaceAll(/\/{2,}/g, '/')
    .replace(/(.)\/$/, '$1')
    .split('/')
    .map((segment) => pad(safeDecode(segment)))
  const names = new Map<string, string>()
  for (const [key, value] of new URLSearchParams(text)) {
    if (key === 'pretty' || key === 'wait_for_complete') continue
    const before = names.get(key)
    names.set(key, before === undefined ? value : `${before},${value}`)
  }
  // `sort=+x`, `sort= x` and `sort=x` are equal; ids are equal with and without leading zeros.
  const query = [...names].map(([key, value]) => `${key}=${key === 'sort' ? value.replace(/^[ +]/, '') : value}`).sort()
  const firstLower = segments[1]?.toLowerCase() ?? ''
  return `${method} /${[firstLower, ...segments.slice(2)].join('/')}?${query.join('&')}`
}

function pad(segment: string): string {
  return /^\d+$/.test(segment) ? segment.replace(/^0+(?=\d)/, '').padStart(3, '0') : segment
}

function safeDecode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
