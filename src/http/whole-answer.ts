/**
 * An answer whose bytes are all there, in one write. Node looks at each header of a response again, joins head and body
 * in a vectored write and waits a turn for it; for a small hit that is a third of its cost. What Node would write is
 * written here: the same status line, the same headers, `Date`, `Connection` and `Keep-Alive` behind them. Values are
 * those of represent.ts, which hold no line break: what Redis gave was looked at where it came in (store/redis/entries.ts).
 */
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { everyAnswer } from './reply.ts'
import type { Representation } from './represent.ts'

/** Bytes up to which copying is cheaper than a vectored write. */
const SHORT = 16_384
const SECOND = 1000

type Response = ServerResponse<IncomingMessage>

/** `id`: of the request. */
export function sendWhole(response: Response, id: string, { status, headers, bytes }: Representation): void {
  const { socket } = response
  const persistence = socket === null ? undefined : persistenceOf(response, socket)
  if (socket === null || persistence === undefined) {
    response.writeHead(status, [...everyAnswer(id), ...headers])
    response.end(bytes)
    return
  }
  const start = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines(everyAnswer(id))}`
  const head = `${start}${lines(headers)}Date: ${date()}\r\n${persistence}\r\n`
  response.statusCode = status
  // Who left or who stays is told apart by this (ask.ts).
  response.finished = true
  if (bytes === undefined || response.req.method === 'HEAD') socket.write(head, 'latin1')
  else if (bytes.length <= SHORT) socket.write(head + bytes.toString('latin1'), 'latin1')
  else {
    socket.cork()
    socket.write(head, 'latin1')
    socket.write(bytes)
    socket.uncork()
  }
  // Node's server ends the exchange at this event, as it would have by itself.
  if (socket.writableLength === 0) response.emit('finish')
  else socket.write('', (fault) => void (fault ?? response.emit('finish')))
}

function lines(headers: readonly string[]): string {
  let text = ''
  for (let at = 0; at < headers.length; at += 2) text += `${headers[at]}: ${headers[at + 1]}\r\n`
  return text
}

/** The server is known to its sockets, but not in the types of Node. */
interface Served {
  readonly server?: { readonly keepAliveTimeout: number; readonly maxRequestsPerSocket: number | null }
}

/** What tells the client that the connection stays; absent: it does not, or Node is to say it. */
function persistenceOf(response: Response, socket: Socket & Served): string | undefined {
  if (!response.shouldKeepAlive || response.req.httpVersion !== '1.1') return undefined
  if (!socket.writable || response.hasHeader('connection')) return undefined
  const { keepAliveTimeout = 0, maxRequestsPerSocket } = socket.server ?? {}
  if (keepAliveTimeout <= 0 || (maxRequestsPerSocket ?? 0) > 0) return undefined
  return `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(keepAliveTimeout / SECOND)}\r\n`
}

let shown = { until: 0, text: '' }

/** `Date` changes once a second. */
function date(): string {
  const now = Date.now()
  if (now >= shown.until || now < shown.until - SECOND) {
    shown = { until: Math.floor(now / SECOND) * SECOND + SECOND, text: new Date(now).toUTCString() }
  }
  return shown.text
}
