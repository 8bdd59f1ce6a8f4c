/** A whole edge over sockets, in front of a master of the v4 layout that knows only the recorded responses. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Client } from 'undici'
import { startEdge } from '../../support/edge.ts'
import { withLogin } from '../../unit/upstream/v4-node.ts'
import { canonicalCall } from './calls.ts'
import type { V4Exchange } from './exchanges.ts'
import { type ExpectedCalls, expectCalls, type FurtherReplies, type Reply } from './expected-calls.ts'
import { methodOf, type Outcome } from './v3-master.ts'
import type { V3Request } from './v3-request.ts'
import { urlOf } from './v3-requests.ts'

export interface WholeEdge {
  send(request: V3Request, exchange: V4Exchange, further: FurtherReplies): Promise<Outcome>
  /** Calls of the edge without a token. */
  readonly unauthorised: readonly string[]
  close(): Promise<void>
}

/** `ownReplies`: what the edge asks for itself, by method, path and query. */
export async function startWholeEdge(ownReplies: ReadonlyMap<string, Reply>): Promise<WholeEdge> {
  let expected: ExpectedCalls | undefined
  const unauthorised: string[] = []
  const server = createServer(
    withLogin((request, response) => {
      read(request, (body) => {
        const call = { node: 'master', method: request.method ?? '', path: request.url ?? '', body }
        if (!request.headers.authorization?.startsWith('Bearer ')) unauthorised.push(canonicalCall(call))
        answer(response, ownReplies.get(canonicalCall(call)) ?? expected?.answer(call))
      })
    }),
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const edge = await startEdge({
    nodes: [{ name: 'master', type: 'master', url: `http://127.0.0.1:${port}` }],
    settings: {
      cache: { enabled: false },
      cluster: {
        layout: 'v4',
        upgradeRepositories: ['127.0.0.1/'],
        packageFolders: ['/var/ossec/', '/tmp/'],
        limits: { perMinute: 0 },
      },
      access: { limits: { requestsPerSecond: 100_000 } },
    },
  })
  const client = new Client(edge.url)
  const authorization = edge.authorization('admin')
  return {
    unauthorised,
    async send(request, exchange, further) {
      expected = expectCalls(request, exchange, further)
      const { calls, unexpected } = expected
      const { body } = request
      const response = await client.request({
        path: urlOf(request),
        method: methodOf(request),
        headers: { authorization, ...(body && { 'content-type': body.type }) },
        ...(body && { body: body.text }),
      })
      const text = await response.body.text()
      expected = undefined
      return { status: response.statusCode, text, calls, unexpected }
    },
    async close() {
      await client.close()
      await edge.close()
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

function read(request: IncomingMessage, onEnd: (body: string) => void): void {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => onEnd(Buffer.concat(chunks).toString()))
}

/** Status 599 cannot be mistaken for a recorded response. */
function answer(response: ServerResponse, reply: Reply | undefined): void {
  if (reply === undefined) response.writeHead(599).end('not recorded')
  else response.writeHead(reply.status, reply.headers).end(reply.body)
}
