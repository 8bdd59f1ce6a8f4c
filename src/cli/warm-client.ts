import { Agent } from 'undici'
import { exitCodes } from '../server/exit.ts'
import { CommandError, fileText } from './terminal.ts'
import { Refused } from './warm-requests.ts'

/** A client of a running edge: one origin, one caller, no redirects. */

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

/** What `manager-edge warm` asks for: a list that somebody wrote, or what a running edge is asked for most. */

/** Rows of one answer of `GET /cache`; the contract allows no longer page. */
const PAGE = 1000

/** Paths of a file, each once, in its order. Empty lines and those that begin with # are left out. */
export async function listFrom(file: string, base: URL): Promise<readonly string[]> {
  const text = await fileText(file)
  const faults: string[] = []
  const paths = text.split(/\r?\n/).flatMap((line, at) => {
    const entry = line.trim()
    if (entry === '' || entry.startsWith('#')) return []
    const path = pathOf(entry, base)
    if (path === undefined)
      faults.push(`${file} line ${at + 1}: write a path such as /agents, or a URL of ${base.origin}`)
    return path ?? []
  })
  if (faults.length > 0) throw new CommandError(faults.slice(0, 10).join('\n'), exitCodes.settings)
  return [...new Set(paths)]
}

/** Credentials go to the one edge that was named, and to nobody whom a list names. */
function pathOf(entry: string, base: URL): string | undefined {
  if (/\s/.test(entry) || !URL.canParse(entry, base.origin)) return undefined
  const url = new URL(entry, base)
  const own = entry.startsWith('/') || /^https?:\/\//.test(entry)
  return own && url.origin === base.origin ? url.pathname + url.search : undefined
}

/** The URLs of the entries with most hits, the busiest first. */
export async function busiest(edge: EdgeClient, count: number): Promise<readonly string[]> {
  const urls = new Set<string>()
  for (let offset = 0; urls.size < count; offset += PAGE) {
    const query = new URLSearchParams({ details: 'true', sort: '-hits', limit: String(PAGE), offset: String(offset) })
    const { status, text } = await edge.read(`/cache?${query}`)
    const page = status === 200 ? pageOf(text) : undefined
    if (status === 401) throw new Refused()
    if (page === undefined) {
      throw new CommandError(`GET /cache answers ${status}: ${text.slice(0, 200)}; it needs the permission cache:read`)
    }
    for (const url of page.urls) if (urls.size < count) urls.add(url)
    if (offset + PAGE >= page.total) break
  }
  return [...urls]
}

function pageOf(text: string): { urls: readonly string[]; total: number } | undefined {
  const { data } = parsed(text) as { data?: { items?: unknown; totalItems?: unknown } }
  if (!Array.isArray(data?.items) || typeof data.totalItems !== 'number') return undefined
  const urls = data.items.flatMap(({ url }: { url?: unknown }) => (typeof url === 'string' ? [url] : []))
  return { urls, total: data.totalItems }
}

function parsed(text: string): object {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : {}
  } catch {
    return {}
  }
}
