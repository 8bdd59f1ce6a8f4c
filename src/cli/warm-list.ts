/** What `manager-edge warm` asks for: a list that somebody wrote, or what a running edge is asked for most. */
import { exitCodes } from '../server/exit-codes.ts'
import { fileText } from './file-text.ts'
import { CommandError } from './terminal.ts'
import type { EdgeClient } from './warm-client.ts'
import { Refused } from './warm-run.ts'

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
