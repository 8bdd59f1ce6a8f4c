/**
 * A plain `node:http` server with the framing rules of the edge, written as one list without code of the edge. Every request
 * is parsed by Node's parser, and the whole list is checked for each request.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { observeConnections } from '../settled.ts'

export interface Oracle {
  readonly port: number
  isSettled(client: Socket): boolean
  close(): void
}

interface Connection {
  /** Requests without a response. */
  pending: number
  /** The request whose body is being received. */
  receiving: IncomingMessage | undefined
  /** The last valid request. */
  last: IncomingMessage | undefined
  isRejected: boolean
}

const SINGLE = /^(?:host|content-length|content-type|content-encoding|authorization|transfer-encoding|expect)$/
const LIMITS = { headerBytes: 16_384, headers: 100, url: 8192 }

/** Returns the data of the response to a valid request; `undefined`: the response is 404, before the body is read. */
export type Answer = (request: IncomingMessage) => string | undefined

/** `leavesOut`: a rule that is not checked. */
export async function startOracle(answer: Answer, leavesOut?: string): Promise<Oracle> {
  const connections = new WeakMap<Socket, Connection>()
  const server = createServer({
    maxHeaderSize: LIMITS.headerBytes + LIMITS.url,
    requireHostHeader: false,
    insecureHTTPParser: false,
  })
  server.maxHeadersCount = 0
  const connectionOf = (socket: Socket): Connection => {
    const known = connections.get(socket)
    if (known) return known
    const connection = { pending: 0, receiving: undefined, last: undefined, isRejected: false }
    connections.set(socket, connection)
    return connection
  }
  /** Rejects what follows the requests that were received in full. */
  const reject = (socket: Socket): void => {
    const connection = connectionOf(socket)
    if (connection.isRejected) return
    connection.isRejected = true
    rejectIfFirst(socket, connection)
  }
  const handle = (request: IncomingMessage, response: ServerResponse, expects = false): void => {
    const { socket } = request
    const connection = connectionOf(socket)
    if (connection.isRejected || !socket.writable) return
    if (brokenRules(request).some((rule) => rule !== leavesOut)) {
      reject(socket)
      return
    }
    connection.pending += 1
    connection.receiving = request
    connection.last = request
    // Runs for a response that was sent, before Node sends the next one.
    response.on('finish', () => {
      connection.pending -= 1
      if (connection.isRejected) rejectIfFirst(socket, connection)
    })
    // Node's parser drops what arrives together with an offer of another protocol.
    if (request.headers.upgrade !== undefined) response.shouldKeepAlive = false
    const { path } = targetOf(request.url ?? '')
    request.url = path
    const data = answer(request)
    if (data !== undefined && expects) response.writeContinue()
    if (data === undefined) {
      connection.receiving = undefined
      respond(response, 404, { error: 603 })
      return
    }
    const chunks: Buffer[] = []
    const end = (): void => {
      const body = Buffer.concat(chunks).toString('latin1')
      // The endpoints other than POST take no body. One that is no JSON could be a second request.
      if (request.method !== 'POST' && body !== '' && !isJson(body)) {
        connection.isRejected = true
        rejectNow(socket, connection)
        return
      }
      respond(response, 200, { error: 0, data })
    }
    const { headers } = request
    if (headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0) end()
    else request.on('data', (chunk) => chunks.push(chunk)).on('end', end)
  }
  server.on('connection', (socket: Socket) => {
    socket.on('error', () => undefined)
    // Node destroys the socket here, and the kernel may then reset it before the client has read the response.
    socket.destroySoon = () => void socket.end()
  })
  server.on('request', (request, response) => handle(request, response))
  server.on('checkExpectation', (request, response) => handle(request, response))
  server.on('checkContinue', (request, response) => handle(request, response, true))
  server.on('connect', (_request, socket: Socket) => {
    socket.resume()
    reject(socket)
  })
  server.on('clientError', (_error, socket) => reject(socket as Socket))
  const isSettled = observeConnections([server])
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    isSettled,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

function respond(response: ServerResponse, status: number, content: object): void {
  const text = JSON.stringify(content)
  response.writeHead(status, { 'content-length': text.length }).end(text)
}

/** Rejects if all requests before are answered. `complete`: the event for the end of a body comes later than that. */
function rejectIfFirst(socket: Socket, connection: Connection): void {
  const { pending, receiving } = connection
  if (pending === (receiving?.complete === false ? 1 : 0)) rejectNow(socket, connection)
}

/** `answeredBefore`: the fault is in the body of a request that was answered without it. */
function rejectNow(socket: Socket, { last, receiving }: Connection): void {
  if (!socket.writable) return
  const body = JSON.stringify({ error: 900, answeredBefore: last?.complete === false && last !== receiving })
  socket.end(`HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
  socket.resume()
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Returns the names of the rules that the request breaks. */
function brokenRules(request: IncomingMessage): string[] {
  const { rawHeaders, headers, method = '', url = '', httpVersion } = request
  const names = rawHeaders.filter((_, at) => at % 2 === 0).map((name) => name.toLowerCase())
  const single = names.filter((name) => SINGLE.test(name))
  const coding = headers['transfer-encoding']
  const length = headers['content-length']
  const hasBody = coding !== undefined || Number(length ?? 0) > 0
  const { path, authority } = targetOf(url)
  const rules: Readonly<Record<string, boolean>> = {
    'url length': url.length <= LIMITS.url,
    'number of headers': names.length <= LIMITS.headers,
    'bytes of headers': rawHeaders.join('').length <= LIMITS.headerBytes,
    'repeated header': new Set(single).size === single.length,
    version: httpVersion === '1.1' || httpVersion === '1.0',
    upgrade: headers.upgrade === undefined || headers.upgrade.toLowerCase() === 'h2c',
    method: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'].includes(method),
    target: path.startsWith('/') && !/[^\x21-\x7e]|#/.test(path),
    authority: authority === undefined || isHost(authority),
    host: headers.host === undefined ? httpVersion === '1.0' : isHost(headers.host),
    'length and coding': coding === undefined || length === undefined,
    coding: coding === undefined || (coding.toLowerCase() === 'chunked' && httpVersion !== '1.0'),
    length: length === undefined || /^\d{1,15}$/.test(length),
    'body of HEAD': method !== 'HEAD' || !hasBody,
    expect: headers.expect === undefined || headers.expect.toLowerCase() === '100-continue',
  }
  return Object.entries(rules).flatMap(([name, isKept]) => (isKept ? [] : [name]))
}

/** Returns the path and the query of a target, and the authority of one in absolute form. */
function targetOf(target: string): { readonly path: string; readonly authority?: string } {
  const [, scheme = '', rest = ''] = /^([^/]*):\/\/(.*)$/.exec(target) ?? []
  if (scheme.toLowerCase() !== 'http' && scheme.toLowerCase() !== 'https') return { path: target }
  const end = rest.search(/[/?#]|$/)
  const path = rest.slice(end)
  return { authority: rest.slice(0, end), path: path.startsWith('/') ? path : `/${path}` }
}

function isHost(host: string): boolean {
  const [name = '', port = '0', ...rest] = host.split(':')
  return rest.length === 0 && /^[\w.~-]+$/.test(name) && /^\d{1,5}$/.test(port)
}
