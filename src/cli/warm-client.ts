/** A client of a running edge: one origin, one caller, no redirects. */
import { Agent } from 'undici'

export interface EdgeAnswer {
  readonly status: number
  /** As the edge wrote it; empty where there is none. */
  readonly cacheStatus: string
  /** Milliseconds that the edge wants to be left alone; absent: it does not say. */
  readonly retryAfter?: number
}

export interface EdgeClient {
  /** The body is read to its end and thrown away: an answer that is not taken is no load that others may have. */
  get(path: string): Promise<EdgeAnswer>
  read(path: string): Promise<EdgeAnswer & { readonly text: string }>
  close(): Promise<void>
}

export interface EdgeClientOptions {
  readonly url: URL
  readonly authorization: string
  /** PEM of the CA of the edge's certificate; absent: those of Node. */
  readonly ca?: string
  readonly connections: number
  /** Milliseconds for an answer; absent: longer than the edge itself lets a slow call take. */
  readonly limit?: number
}

const LIMIT = 150_000

export function edgeClient({ url, authorization, ca, connections, limit = LIMIT }: EdgeClientOptions): EdgeClient {
  const agent = new Agent({
    connections,
    headersTimeout: limit,
    bodyTimeout: limit,
    connect: { timeout: 10_000, ...(ca !== undefined && { ca }) },
  })
  const send = async (path: string) => {
    const headers = { authorization, accept: 'application/json', 'user-agent': 'manager-edge-warm' }
    const answer = await agent.request({ origin: url.origin, path, method: 'GET', headers })
    const retryAfter = Number(answer.headers['retry-after'] ?? Number.NaN)
    return {
      body: answer.body,
      said: {
        status: answer.statusCode,
        cacheStatus: String(answer.headers['cache-status'] ?? ''),
        ...(Number.isFinite(retryAfter) && { retryAfter: Math.max(0, retryAfter) * 1000 }),
      },
    }
  }
  return {
    get: async (path) => {
      const { body, said } = await send(path)
      for await (const _chunk of body);
      return said
    },
    read: async (path) => {
      const { body, said } = await send(path)
      return { ...said, text: await body.text() }
    },
    close: () => agent.close(),
  }
}
