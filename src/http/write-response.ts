import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { everyAnswer } from './reply.ts'
import type { Representation } from './representation.ts'

/**
 * An answer whose bytes are all there, in one write. Node looks at each header of a response again, joins head and body
 * in a vectored write and waits a turn for it; for a small hit that is a third of its cost. What Node would write is
 * written here: the same status line, the same headers, `Date`, `Connection` and `Keep-Alive` behind them. Values are
 * those of represent.ts, which hold no line break: what Redis gave was looked at where it came in (store/redis/entries.ts).
 */

/** Bytes up to which copying is cheaper than a vectored write. */
const SHORT = 16_384
const SECOND = 1000

type Response = ServerResponse<IncomingMessage>

/** `id`: of the request. */
export function sendWhole(response: Response, id: string, { status, lasting, headers, bytes }: Representation): void {
  const { socket } = response
  const ending = socket === null ? undefined : endingOf(response, socket)
  const reason = STATUS_CODES[status]
  if (socket === null || ending === undefined || reason === undefined) {
    response.writeHead(status, [...everyAnswer(id), ...lasting.pairs, ...headers])
    response.end(bytes)
    return
  }
  const start = `HTTP/1.1 ${status} ${reason}\r\n${lines(everyAnswer(id))}`
  const head = `${start}${lasting.text}${lines(headers)}${ending}`
  response.statusCode = status
  // Who left or who stays is told apart by this (ask.ts).
  response.finished = true
  // Node's server ends the exchange at this event, as it would have by itself.
  const sent = (fault?: Error | null): void => void (fault ?? response.emit('finish'))
  if (bytes !== undefined && bytes.length > SHORT && response.req.method !== 'HEAD') {
    socket.cork()
    socket.write(head, 'latin1')
    socket.write(bytes, sent)
    socket.uncork()
    return
  }
  const body = bytes === undefined || response.req.method === 'HEAD' ? '' : bytes.toString('latin1')
  socket.write(head + body, 'latin1')
  if (socket.writableLength === 0) sent()
  else socket.write('', sent)
}

/** The server is known to its sockets, but not in the types of Node. */
interface Served {
  readonly server?: { readonly keepAliveTimeout: number; readonly maxRequestsPerSocket: number | null }
}

/** The last lines of a head, of an answer that its connection outlives; absent: Node is to write the answer. */
function endingOf(response: Response, socket: Socket & Served): string | undefined {
  if (!response.shouldKeepAlive || response.req.httpVersion !== '1.1') return undefined
  if (!socket.writable || response.hasHeader('connection')) return undefined
  const { keepAliveTimeout = 0, maxRequestsPerSocket } = socket.server ?? {}
  if (keepAliveTimeout <= 0 || (maxRequestsPerSocket ?? 0) > 0) return undefined
  const now = Date.now()
  // `Date` changes once a second; a clock may also be set back.
  if (now >= shown.until || now < shown.until - SECOND || shown.timeout !== keepAliveTimeout) {
    const until = Math.floor(now / SECOND) * SECOND + SECOND
    const stays = `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(keepAliveTimeout / SECOND)}`
    shown = { until, timeout: keepAliveTimeout, text: `Date: ${new Date(now).toUTCString()}\r\n${stays}\r\n\r\n` }
  }
  return shown.text
}

let shown = { until: 0, timeout: 0, text: '' }

/** Header fields that are made once and sent often: as the framework takes them, and as they stand on the wire. */
export interface Fields {
  /** Names in lower case and values, in turn. */
  readonly pairs: readonly string[]
  /** A line for each. */
  readonly text: string
}

export function fields(pairs: readonly string[]): Fields {
  // Joined flat: a text that is still in pieces would be put together again each time it is sent.
  return { pairs, text: Buffer.from(lines(pairs), 'latin1').toString('latin1') }
}

/** As one text, where Node gives a header that came several times as a list. */
export function textOf(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(',') : header
}

export function lines(pairs: readonly string[]): string {
  let text = ''
  for (let at = 0; at < pairs.length; at += 2) text += `${pairs[at]}: ${pairs[at + 1]}\r\n`
  return text
}
