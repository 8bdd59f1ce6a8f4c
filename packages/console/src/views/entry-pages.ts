/** Pages of the list of entries, fetched when they become visible. */
import { useEffect, useRef, useState } from 'preact/hooks'
import type { EntryPage, EntrySummary } from '../../server/cache-types.ts'
import { callApi } from '../api.ts'
import { queryText } from '../route.ts'

export interface EntryFilter extends Record<string, string> {
  readonly search: string
  readonly group: string
  readonly endpoint: string
  readonly tag: string
  readonly scope: string
  readonly sort: string
}

export interface Summary {
  readonly total?: number
  readonly all: number
  readonly size: number
  readonly age: number
  /** The edge is still reading the index. */
  readonly partial: boolean
  readonly error?: string
}

const PAGE_ENTRIES = 100
/** Beyond this number the oldest page is discarded. */
const MAX_PAGES = 20
const POLL_INTERVAL_MS = 10_000
/** Used while the edge is still reading the index; a response takes up to a second then. */
const SCAN_POLL_INTERVAL_MS = 100
const EMPTY_SUMMARY: Summary = { all: 0, size: 0, age: 0, partial: false }

/** Changes of this object alone do not render the page. */
interface PageCache {
  readonly pages: Map<number, readonly EntrySummary[]>
  /** Pages that are being fetched. */
  readonly requested: Set<number>
  /** Pages that failed. They are fetched again at the next poll, not at each rendering. */
  readonly failed: Set<number>
  shown: number
  isPartial: boolean
  /** The current query. Responses to an earlier query are ignored. */
  query: string
}

export function usePages(
  filter: EntryFilter,
  changes: number,
): { readonly summary: Summary; row(at: number): EntrySummary | undefined; refresh(): void } {
  const [summary, setSummary] = useState<Summary>(EMPTY_SUMMARY)
  const text = queryText(filter)
  const { current: fetched } = useRef<PageCache>(emptyPages(text))
  fetched.query = text
  const fetchPage = async (page: number, refresh = false): Promise<void> => {
    const { requested } = fetched
    if (requested.has(page) && !refresh) return
    requested.add(page)
    try {
      const window = `offset=${page * PAGE_ENTRIES}&limit=${PAGE_ENTRIES}${refresh ? '&refresh=true' : ''}`
      const found = await callApi<EntryPage>(`/api/entries?${text}&${window}`)
      if (fetched.query !== text) return
      // The other pages are of an earlier read.
      if (refresh) fetched.pages.clear()
      storePage(fetched, page, found)
      const { total, all, bytes: size, age, partial } = found
      setSummary({ total, all, size, age, partial })
    } catch (error) {
      if (fetched.query !== text) return
      fetched.failed.add(page)
      // Earlier entries beside an error would look like its result.
      setSummary({ ...EMPTY_SUMMARY, error: (error as Error).message })
    } finally {
      requested.delete(page)
    }
  }
  // Starts again with another query and after a purge.
  useEffect(() => {
    Object.assign(fetched, emptyPages(text))
    void fetchPage(0)
    const timer = setInterval(() => void (document.hidden || fetchPage(fetched.shown)), POLL_INTERVAL_MS)
    return () => clearInterval(timer)
  }, [text, changes])
  useEffect(() => {
    if (!summary.partial) return
    const timer = setTimeout(() => void fetchPage(fetched.shown), SCAN_POLL_INTERVAL_MS)
    return () => clearTimeout(timer)
  }, [summary])
  return {
    summary,
    refresh: () => void fetchPage(fetched.shown, true),
    row(at) {
      const page = Math.floor(at / PAGE_ENTRIES)
      const entries = fetched.pages.get(page)
      fetched.shown = page
      if (entries === undefined && !fetched.failed.has(page)) void fetchPage(page)
      return entries?.[at % PAGE_ENTRIES]
    },
  }
}

function emptyPages(text: string): PageCache {
  return { pages: new Map(), requested: new Set(), failed: new Set(), shown: 0, isPartial: false, query: text }
}

function storePage(fetched: PageCache, page: number, { items, partial }: EntryPage): void {
  const { pages, failed } = fetched
  // Pages that were returned at different moments of one read overlap.
  if (partial || fetched.isPartial) pages.clear()
  fetched.isPartial = partial
  failed.clear()
  pages.delete(page)
  pages.set(page, items)
  for (const oldest of pages.keys()) if (pages.size > MAX_PAGES) pages.delete(oldest)
}
