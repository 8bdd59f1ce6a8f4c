/** Sends responses, as they are or with the faults of their node. */
import type { ServerResponse } from 'node:http'
import type { Fault } from './faults.ts'
import type { Outgoing } from './wire.ts'

/** Returns the response of a node whose fault replaces every response; undefined without such a fault. */
export function disfigured({ html, status }: Fault): Outgoing | undefined {
  if (html === undefined && status === undefined) return undefined
  const body = Buffer.from(html === true ? '<html><body><h1>Bad Gateway</h1></body></html>' : '')
  const headers = { 'Content-Type': html === true ? 'text/html' : 'text/plain', 'Content-Length': `${body.length}` }
  return { status: status ?? 200, headers, body }
}

/** A fault may cut the body. */
export function send(response: ServerResponse, outgoing: Outgoing, { truncate }: Fault): void {
  response.writeHead(outgoing.status, { ...outgoing.headers })
  if (truncate === undefined || truncate >= outgoing.body.length) {
    response.end(outgoing.body)
    return
  }
  // The headers must be sent before the cut, even if no byte of the body may follow.
  response.flushHeaders()
  response.write(outgoing.body.subarray(0, truncate), () => response.socket?.destroy())
  if (truncate === 0) response.socket?.end()
}
