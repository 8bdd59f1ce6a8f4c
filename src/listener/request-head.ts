/**
 * The headers of a request, with what was derived from them. Clients send the same headers with each request of a
 * connection, and comparing them costs a fraction of parsing and checking them again.
 */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'

export class RequestHead {
  /** Names and values as received, alternating. */
  rawHeaders: readonly string[]
  readonly headers: IncomingHttpHeaders
  /** The request line that passed the framing checks last, together with these headers. */
  checked: CheckedRequestLine | undefined
  /** The key under which authentication remembers the credentials; contains nothing of them. */
  credentialsKey: string | undefined
  /** The address of the client behind trusted proxies. */
  clientAddress: string | undefined

  constructor({ rawHeaders, headers }: IncomingMessage) {
    this.rawHeaders = rawHeaders
    this.headers = headers
  }
}

export interface CheckedRequestLine {
  /** The rules are one object for each listener. */
  readonly rules: object
  readonly method: string
  readonly version: string
  readonly url: string
}

/** The last head of each connection. It is a property of the socket: a map lookup costs as much as the comparison. */
const LAST_HEAD = Symbol('head')

interface Connection extends Socket {
  [LAST_HEAD]?: RequestHead
}

/** Returns the same object as for the previous request of the connection if that had the same headers. */
export function headOf(request: IncomingMessage): RequestHead {
  const socket: Connection = request.socket
  const last = socket[LAST_HEAD]
  if (last !== undefined && isEqual(last.rawHeaders, request.rawHeaders)) {
    last.rawHeaders = request.rawHeaders
    return last
  }
  const head = new RequestHead(request)
  socket[LAST_HEAD] = head
  return head
}

function isEqual(a: readonly string[], b: readonly string[]): boolean {
  if (a === b) return true
  if (a.length !== b.length) return false
  for (let at = 0; at < a.length; at += 1) if (a[at] !== b[at]) return false
  return true
}
