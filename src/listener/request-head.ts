/**
 * What stands in front of a request beside its target, read once for as long as its connection repeats it: clients send
 * the same headers with each request, and comparing them costs a fraction of reading them.
 */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'

export class Head {
  /** As they came, names and values in turn. */
  raw: readonly string[]
  readonly headers: IncomingHttpHeaders
  /** What passed the rules of framing.ts last; those rules are one object for each listener. */
  passed: Passed | undefined
  /** Under which name authentication remembers the credentials in it; says nothing of them. */
  credentials: string | undefined
  /** The client behind trusted proxies. */
  client: string | undefined

  constructor({ rawHeaders, headers }: IncomingMessage) {
    this.raw = rawHeaders
    this.headers = headers
  }
}

export interface Passed {
  readonly rules: object
  readonly method: string
  readonly version: string
  readonly url: string
}

/** Of each connection the last one. It hangs on the socket: to look it up in a map costs as much as to compare it. */
const LAST = Symbol('head')

interface Connection extends Socket {
  [LAST]?: Head
}

/** The same object as for the request before, if that had the same headers on the same connection. */
export function headOf(request: IncomingMessage): Head {
  const socket: Connection = request.socket
  const last = socket[LAST]
  if (last !== undefined && same(last.raw, request.rawHeaders)) {
    last.raw = request.rawHeaders
    return last
  }
  const head = new Head(request)
  socket[LAST] = head
  return head
}

function same(ones: readonly string[], others: readonly string[]): boolean {
  if (ones === others) return true
  if (ones.length !== others.length) return false
  for (let at = 0; at < ones.length; at += 1) if (ones[at] !== others[at]) return false
  return true
}
