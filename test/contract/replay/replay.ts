import { Client } from 'undici'
import { startEdge } from '../../support/edge.ts'
import { type Exchange, json } from './exchanges.ts'
import { ReplayNode } from './replay-node.ts'

/** The outcome of a request to the edge. */
export interface Outcome {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly type: string
  readonly text: string
  /** Calls that reached the node. */
  readonly calls: number
}

export interface Replay {
  /**
   * Sends a recorded request through the edge while the node replays the recorded response; `headers` override the
   * recorded ones.
   */
  send(exchange: Exchange, headers?: Readonly<Record<string, string>>): Promise<Outcome>
  /** Purges the cache. */
  clear(): Promise<void>
  close(): Promise<void>
}

const credentials: Readonly<Record<Exchange['auth'], (good: string) => Record<string, string>>> = {
  ok: (good) => ({ authorization: good }),
  bad: () => ({ authorization: `Basic ${Buffer.from('nobody:wrong').toString('base64')}` }),
  none: () => ({}),
  garbage: () => ({ authorization: 'Basic !!!' }),
  bearer: () => ({ authorization: 'Bearer x.y.z' }),
}

/** Starts the edge in front of one node that replays recorded responses. */
export async function startReplay(
  exchanges: readonly Exchange[],
  cache: Readonly<Record<string, unknown>>,
  { discover = true }: { readonly discover?: boolean } = {},
): Promise<Replay> {
  const node = new ReplayNode(nodesOf(exchanges))
  const edge = await startEdge({
    nodes: [{ name: 'master', type: 'master', url: await node.listen() }],
    settings: {
      cache,
      cluster: { discover },
      listen: { limits: { upload: '1MiB' } },
      access: { limits: { requestsPerSecond: 100_000, failedLogins: 1000 } },
    },
  })
  const authorization = edge.authorization('admin')
  // A separate client, because `fetch` normalises paths such as `//`.
  const client = new Client(edge.url)
  return {
    async send(exchange, further = {}) {
      node.expected = exchange
      const before = node.calls.length
      const { method, path, headers, body } = exchange.request
      const response = await client.request({
        path,
        method: method as 'GET',
        headers: { ...headers, ...credentials[exchange.auth](authorization), ...further },
        body,
      })
      const text = await response.body.text()
      return {
        status: response.statusCode,
        headers: response.headers,
        type: String(response.headers['content-type'] ?? ''),
        text,
        calls: node.calls.length - before,
      }
    },
    async clear() {
      const response = await client.request({ method: 'DELETE', path: '/cache', headers: { authorization } })
      await response.body.dump()
    },
    async close() {
      await client.close()
      await edge.close()
      await node.close()
    },
  }
}

/** Returns the complete list of nodes from two recorded pages. */
function nodesOf(exchanges: readonly Exchange[]): string {
  const rows = (query: string): unknown[] => {
    const page = exchanges.find(
      ({ request }) => request.path.replace('wait_for_complete&', '') === `/cluster/nodes?${query}`,
    )
    return (json(page?.response.body ?? '')?.data as { items?: unknown[] } | undefined)?.items ?? []
  }
  const items = [...rows('limit=1'), ...rows('sort=-name&limit=2')]
  return JSON.stringify({ error: 0, data: { totalItems: 3, items } })
}
