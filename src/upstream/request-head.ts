/** The headers that a node sees: these and no others. Host and Connection are undici's. */
import type { NodeCall } from '../core/node-call.ts'
import type { NodeCredentials } from './options.ts'

export type RequestHead = (call: NodeCall) => Readonly<Record<string, string>>

/** What nodes are told of a request that nobody traces (`traceparent`); `undefined`: nothing. */
export type Untraced = (requestId: string) => string | undefined

/** Made once. A call that brings no credentials where it should goes without, and the node refuses it. */
export function requestHead(credentials: NodeCredentials, untraced: Untraced = () => undefined): RequestHead {
  const own = credentials.mode === 'service' ? basic(credentials) : undefined
  return (call) => {
    const authorization = own ?? (call.credentials && basic(call.credentials))
    const { trace, requestId } = call
    const traceparent = trace?.parent ?? untraced(requestId)
    return {
      ...(authorization !== undefined && { authorization }),
      accept: call.expect === 'stream' ? 'text/xml, application/json' : 'application/json',
      'user-agent': 'manager-edge',
      'x-request-id': requestId,
      ...(traceparent !== undefined && { traceparent }),
      ...(trace?.state !== undefined && { tracestate: trace.state }),
      // The node keeps a cache of its own, by URL alone and never invalidated (contract/wire.md, Cache). It also
      // stores answers to five writes, which a GET of the same URL would then receive, so reads always go round it.
      ...(call.method === 'GET' && { 'x-apicache-bypass': '1' }),
      ...(call.body && { 'content-type': call.body.type, 'content-length': String(call.body.bytes.length) }),
    }
  }
}

function basic({ username, password }: { readonly username: string; readonly password: string }): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
}
