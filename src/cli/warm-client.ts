/** What `manager-edge warm` reads: a client of a running edge, and the list of URLs to request. */
import { Agent } from 'undici'
import { EXIT_CODES } from '../server/exit.ts'
import { CommandError, readTextFile } from './terminal.ts'

export interface WarmResponse {
  readonly status: number
  /** The header as sent; empty if there is none. */
  readonly cacheStatus: string
  readonly retryAfterMs?: number
}

/** A client of one origin with one caller. It follows no redirects. */
export interface EdgeClient {
  /** Reads the body to its end and discards it, so that the connection can be reused. */
  get(path: string): Promise<WarmResponse>
  getText(path: string): Promise<WarmResponse & { readonly text: string }>
  close(): Promise<void>
}

export interface EdgeClientOptions {
  readonly url: URL
  readonly authorization: string
  /** PEM of the CA of the edge's certificate. Absent: the CAs of Node.js. */
  readonly ca?: string
  readonly connections: number
  readonly timeoutMs?: number
}

/** Longer than the timeout of the edge for slow endpoints. */
const DEFAULT_TIMEOUT_MS = 150_000
const CONNECT_TIMEOUT_MS = 10_000

export function createEdgeClient(options: EdgeClientOptions): EdgeClient {
  const { url, authorization, ca, connections, timeoutMs = DEFAULT_TIMEOUT_MS } = options
  const agent = new Agent({
    connections,
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    connect: { timeout: CONNECT_TIMEOUT_MS, ...(ca !== undefined && { ca }) },
  })
  const send = async (path: string) => {
    const headers = { authorization, accept: 'application/json', 'user-agent': 'manager-edge-warm' }
    const {
      statusCode,
      headers: received,
      body,
    } = await agent.request({
      origin: url.origin,
      path,
      method: 'GET',
      headers,
    })
    const retryAfter = Number(received['retry-after'] ?? Number.NaN)
    const response: WarmResponse = {
      status: statusCode,
      cacheStatus: String(received['cache-status'] ?? ''),
      ...(Number.isFinite(retryAfter) && { retryAfterMs: Math.max(0, retryAfter) * 1000 }),
    }
    return { body, response }
  }
  return {
    get: async (path) => {
      const { body, response } = await send(path)
      for await (const _chunk of body);
      return response
    },
    getText: async (path) => {
      const { body, response } = await send(path)
      return { ...response, text: await body.text() }
    },
    close: () => agent.close(),
  }
}

/** Thrown on status 401: no further request would succeed. */
export class UnauthorizedError extends CommandError {
  constructor() {
    super('the edge refuses the credentials (401); no further request was sent')
  }
}

/** Reads the paths of a file, each once, in its order. Skips empty lines and lines that start with #. */
export async function readPaths(file: string, edge: URL): Promise<readonly string[]> {
  const text = await readTextFile(file)
  const faults: string[] = []
  const paths = text.split(/\r?\n/).flatMap((line, index) => {
    const entry = line.trim()
    if (entry === '' || entry.startsWith('#')) return []
    const path = parsePath(entry, edge)
    if (path === undefined)
      faults.push(`${file} line ${index + 1}: write a path such as /agents, or a URL of ${edge.origin}`)
    return path ?? []
  })
  if (faults.length > 0) throw new CommandError(faults.slice(0, 10).join('\n'), EXIT_CODES.configuration)
  return [...new Set(paths)]
}

/** Returns `undefined` for a URL of another origin, because the credentials are for this edge only. */
function parsePath(entry: string, edge: URL): string | undefined {
  if (/\s/.test(entry) || !URL.canParse(entry, edge.origin)) return undefined
  const url = new URL(entry, edge)
  const isPathOrUrl = entry.startsWith('/') || /^https?:\/\//.test(entry)
  return isPathOrUrl && url.origin === edge.origin ? url.pathname + url.search : undefined
}

/** Rows of one page of `GET /cache`; the maximum of its parameter `limit`. */
const PAGE_SIZE = 1000

/** Returns the URLs of the stored responses of the classic contract with the most hits, the busiest first. */
export async function fetchBusiest(edge: EdgeClient, count: number): Promise<readonly string[]> {
  const urls = new Set<string>()
  for (let offset = 0; urls.size < count; offset += PAGE_SIZE) {
    const page = { limit: String(PAGE_SIZE), offset: String(offset) }
    const query = new URLSearchParams({ details: 'true', sort: '-hits', ...page })
    const { status, text } = await edge.getText(`/cache?${query}`)
    const parsed = status === 200 ? parsePage(text) : undefined
    if (status === 401) throw new UnauthorizedError()
    if (parsed === undefined) {
      const remedy = 'it needs the permission cache:read'
      throw new CommandError(`GET /cache has status ${status}: ${text.slice(0, 200)}; ${remedy}`)
    }
    for (const url of parsed.urls) if (urls.size < count) urls.add(url)
    if (offset + PAGE_SIZE >= parsed.total) break
  }
  return [...urls]
}

function parsePage(text: string): { urls: readonly string[]; total: number } | undefined {
  const { data } = parseObject(text) as { data?: { items?: unknown; totalItems?: unknown } }
  if (!Array.isArray(data?.items) || typeof data.totalItems !== 'number') return undefined
  const urls = data.items.flatMap(({ url }: { url?: unknown }) => (isPath(url) ? [url] : []))
  return { urls, total: data.totalItems }
}

/** The name of a URL of the newer contract begins with `newer:`. */
function isPath(url: unknown): url is string {
  return typeof url === 'string' && url.startsWith('/')
}

function parseObject(text: string): object {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : {}
  } catch {
    return {}
  }
}
