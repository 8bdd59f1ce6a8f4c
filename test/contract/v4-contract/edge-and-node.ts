/** An edge for clients of the v4 contract, in front of a master that gives the recorded response and notes the calls. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Client } from 'undici'
import { cacheGroups } from '../../../src/config/schema.ts'
import { type RunningEdge, startEdge } from '../../support/edge.ts'
import { sendJson, withLogin } from '../../unit/upstream/v4-node.ts'
import type { ContractExchange } from './exchanges.ts'

const RECORDED_RELEASE = '4.5.4'

/** Longer than busy cores delay the second request for a stored response. */
const TTL = '60s'

export interface SeenCall {
  readonly method: string
  /** With the query. */
  readonly path: string
  readonly type: string | undefined
  readonly body: string
}

export interface Outcome {
  readonly status: number
  readonly type: string
  readonly cacheStatus: string
  readonly text: string
  /** Calls of the node for this request. */
  readonly calls: readonly SeenCall[]
}

export interface EdgeAndNode {
  /** Sends the request of the exchange, while the node gives the response of the exchange. */
  send(exchange: ContractExchange): Promise<Outcome>
  /** Removes all stored responses. */
  clear(): Promise<void>
  close(): Promise<void>
}

/** A list in the v4 contract. */
const listOf = (items: readonly object[]) => ({
  data: { affected_items: items, total_affected_items: items.length, total_failed_items: 0, failed_items: [] },
  message: 'All selected items were returned',
  error: 0,
})

/** What the edge reads for itself, by path. */
const ownReadsOf = (version: string): Readonly<Record<string, object>> => ({
  '/': { data: { title: 'API REST', api_version: version }, error: 0 },
  '/cluster/nodes': listOf(
    ['master', 'worker-1', 'worker-2'].map((name) => ({
      name,
      type: name === 'master' ? 'master' : 'worker',
      version,
      ip: '127.0.0.1',
    })),
  ),
  '/security/users/me/policies': { data: { rbac_mode: 'white' }, message: '', error: 0 },
})

/** `version`: of the nodes. `failedLogins`: of an address, until the edge refuses further ones. */
export async function startEdgeAndNode(version = RECORDED_RELEASE, failedLogins = 1000): Promise<EdgeAndNode> {
  const ownReads = ownReadsOf(version)
  let expected: ContractExchange | undefined
  const seen: (SeenCall & { readonly requestId: unknown })[] = []
  const server = createServer(
    withLogin(async (request, reply) => {
      const { method = '', url: path = '', headers } = request
      const body = await textOf(request)
      seen.push({ method, path, type: headers['content-type'], body, requestId: headers['x-request-id'] })
      const own = ownReads[pathOf(path)]
      if (own !== undefined && pathOf(expected?.request.path ?? '') !== pathOf(path)) sendJson(reply, 200, own)
      else sendRecorded(reply, expected?.response)
    }),
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const edge = await startEdge({
    nodes: [{ name: 'master', type: 'master', url: `http://127.0.0.1:${port}` }],
    settings: {
      listen: { contract: 'v4', secondPort: 0 },
      cluster: { layout: 'v4', limits: { perMinute: 0 } },
      access: { limits: { requestsPerSecond: 100_000, failedLogins } },
      // Each request is passed on as it is.
      cache: { snapshots: { groups: [] }, ttl: Object.fromEntries(cacheGroups.map((group) => [group, TTL])) },
    },
  })
  // `fetch` normalises paths such as `//`.
  const client = new Client(edge.url)
  let token = await tokenOf(edge)
  return {
    async send(exchange) {
      expected = exchange
      const { method, path, contentType, body } = exchange.request
      const response = await client.request({
        path,
        method: method as 'GET',
        headers: {
          ...credentialsOf(exchange, token, edge.authorization('admin')),
          ...(contentType !== undefined && { 'content-type': contentType }),
        },
        ...(body !== undefined && { body }),
      })
      const text = await response.body.text()
      expected = undefined
      if (isLogOut(exchange)) token = await tokenOf(edge)
      const { headers } = response
      return {
        status: response.statusCode,
        type: String(headers['content-type'] ?? ''),
        cacheStatus: String(headers['cache-status'] ?? ''),
        text,
        calls: seen.filter(({ requestId }) => requestId === headers['x-request-id']),
      }
    },
    async clear() {
      const headers = { authorization: edge.authorization('admin') }
      const response = await fetch(`${edge.secondUrl}/cache`, { method: 'DELETE', headers })
      if (!response.ok) throw new Error(`${response.status} for DELETE /cache`)
      await response.arrayBuffer()
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

async function tokenOf({ url, authorization }: RunningEdge): Promise<string> {
  const headers = { authorization: authorization('admin') }
  const response = await fetch(`${url}/security/user/authenticate?raw=true`, { method: 'POST', headers })
  return response.text()
}

function isLogOut({ request: { method, path } }: ContractExchange): boolean {
  return method === 'DELETE' && path === '/security/user/authenticate'
}

function credentialsOf(
  { user, note, response }: ContractExchange,
  token: string,
  basic: string,
): { authorization?: string } {
  if (user === 'basic') return { authorization: basic }
  if (note?.startsWith('wrong password')) return { authorization: `Basic ${btoa('admin:Wrong-Pass-1')}` }
  if (note === 'broken Basic') return { authorization: 'Basic !!!' }
  if (user !== null && response.status === 401) return { authorization: 'Bearer a.b.c' }
  if (user === null) return note === null || WITHOUT.has(note) ? {} : { authorization: 'Bearer a.b.c' }
  return { authorization: `Bearer ${token}` }
}

/** Exchanges without any credentials. The others of no user have a token that is not valid. */
const WITHOUT: ReadonlySet<string> = new Set(['no token', 'no credentials'])

function pathOf(path: string): string {
  return path.split('?')[0] ?? ''
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

/** Status 599 cannot be mistaken for a recorded response. */
function sendRecorded(reply: ServerResponse, recorded: ContractExchange['response'] | undefined): void {
  if (recorded === undefined) reply.writeHead(599).end('not recorded')
  else reply.writeHead(recorded.status, { 'content-type': recorded.headers['content-type'] ?? '' }).end(recorded.body)
}
