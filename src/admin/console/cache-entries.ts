/** The entries of the cache, searched, sorted and in pages, for the console. */
import type { CacheIndex, IndexEntry } from '../../core/response.ts'
import { type Compare, selectFirst } from '../../core/turns.ts'
import type { EntryPage, EntrySummary } from './cache-types.ts'
import { createIndexSnapshots, type IndexSnapshot } from './index-snapshots.ts'

export interface EntryQuery {
  readonly search?: string | undefined
  readonly group?: string | undefined
  readonly tag?: string | undefined
  readonly scope?: string | undefined
  readonly endpoint?: string | undefined
  /** A field of `SORT_FIELDS`; a leading `-` sorts in descending order. */
  readonly sort?: string | undefined
  readonly offset?: number | undefined
  readonly limit?: number | undefined
  /** For the caller: read the index again. */
  readonly refresh?: boolean | undefined
}

export interface EntryList {
  /** Returns all entries, or those that a long read of the index has returned so far. */
  all(): Promise<Pick<IndexSnapshot, 'rows' | 'partial'> & { readonly age: number }>
  page(query: EntryQuery): Promise<EntryPage>
  /** Discards what was read: entries that are requested after this are read again. */
  refresh(): void
  /** Reads the index again. Returns the first `count` entries that match, and the number of all. */
  select(query: EntryQuery, count: number): Promise<{ readonly rows: readonly IndexEntry[]; readonly total: number }>
  /** Returns the entry with the key, and the milliseconds since it was read. */
  find(key: string): Promise<{ readonly row: IndexEntry; readonly age: number } | undefined>
}

/** `rows`: the first ones of `total`, in their order. */
interface SearchResult {
  readonly rows: readonly IndexEntry[]
  readonly total: number
  readonly bytes: number
}

interface Search {
  /** Maximum number of rows that are sorted. */
  readonly count: number
  readonly result: Promise<SearchResult>
}

/** Search results to remember per snapshot, so that the next page is read without another search. */
const MAX_SEARCHES = 8
const DEFAULT_PAGE_ENTRIES = 100
const MAX_PAGE_ENTRIES = 500
/** Rows of a result to sort at least, and in multiples of those that are asked, so that the next pages need no search. */
const MIN_SORTED_ROWS = 1000
const SORTED_PER_ASKED = 2

export const SORT_FIELDS = [
  'url',
  'group',
  'endpoint',
  'scope',
  'size',
  'age',
  'timeLeft',
  'hits',
  'fetchTime',
] as const
type SortField = (typeof SORT_FIELDS)[number]

/** `clock`: monotonic milliseconds. */
export function createEntryList(
  index: Pick<CacheIndex, 'list' | 'purgeCount'>,
  clock: () => number = () => performance.now(),
): EntryList {
  const snapshots = createIndexSnapshots(index, clock)
  const search = createSearch()
  return {
    all: async () => {
      const { rows, partial, readAt } = await snapshots.current()
      return { rows, partial, age: clock() - readAt }
    },
    page: async (query) => {
      const snapshot = await snapshots.current()
      const offset = query.offset ?? 0
      const end = offset + Math.min(MAX_PAGE_ENTRIES, query.limit ?? DEFAULT_PAGE_ENTRIES)
      const found = await search(snapshot, query, end)
      const age = clock() - snapshot.readAt
      return {
        age,
        partial: snapshot.partial,
        total: found.total,
        all: snapshot.rows.length,
        bytes: found.bytes,
        offset,
        items: found.rows.slice(offset, end).map((row) => summaryOf(row, age)),
      }
    },
    refresh: snapshots.refresh,
    select: async (query, count) => {
      snapshots.refresh()
      const { rows, total } = await find((await snapshots.complete()).rows, query, count)
      return { rows: rows.slice(0, count), total }
    },
    find: async (key) => {
      const findIn = ({ rows, readAt }: IndexSnapshot) => {
        const row = rows.find((each) => each.key === key)
        return row && { row, age: clock() - readAt }
      }
      const snapshot = await snapshots.current()
      return findIn(snapshot) ?? (snapshot.partial ? findIn(await snapshots.complete()) : undefined)
    },
  }
}

/** Returns the entry with its times `elapsed` milliseconds after it was read. */
export function summaryOf(row: IndexEntry, elapsed: number): EntrySummary {
  const { key, url, group, endpoint, scope, tags, size, hits } = row
  const times = {
    age: Math.round(row.age + elapsed),
    timeLeft: Math.round(row.timeLeft - elapsed),
    fetchTime: Math.round(row.fetchTime),
  }
  return { key, url, group, endpoint, scope, tags, size, hits, ...times }
}

/** Returns a search that remembers the last results of each snapshot. `asked`: the number of rows that it must sort. */
function createSearch(): (snapshot: IndexSnapshot, query: EntryQuery, asked: number) => Promise<SearchResult> {
  const searchesOf = new WeakMap<IndexSnapshot, Map<string, Search>>()
  return (snapshot, query, asked) => {
    const { offset: _, limit: __, refresh: ___, ...criteria } = query
    const id = JSON.stringify(criteria)
    const searches = searchesOf.get(snapshot) ?? new Map<string, Search>()
    searchesOf.set(snapshot, searches)
    const known = searches.get(id)
    if (known !== undefined && known.count >= Math.min(asked, snapshot.rows.length)) return known.result
    const count = Math.max(MIN_SORTED_ROWS, SORTED_PER_ASKED * asked)
    const result = find(snapshot.rows, query, count)
    searches.delete(id)
    const oldest = searches.keys().next()
    if (searches.size >= MAX_SEARCHES && !oldest.done) searches.delete(oldest.value)
    searches.set(id, { count, result })
    return result
  }
}

async function find(all: readonly IndexEntry[], query: EntryQuery, count: number): Promise<SearchResult> {
  const field = SORT_FIELDS.find((each) => each === query.sort?.replace(/^-/, '')) ?? 'url'
  const matches = matcherOf(query)
  let bytes = 0
  const pick = (row: IndexEntry): IndexEntry | undefined => {
    if (!matches(row)) return undefined
    bytes += row.size
    return row
  }
  const compare = comparatorOf(field, query.sort?.startsWith('-') ?? false)
  const { first: rows, total } = await selectFirst(all, pick, compare, count)
  return { rows, total, bytes }
}

function matcherOf({ search, group, tag, scope, endpoint }: EntryQuery): (row: IndexEntry) => boolean {
  const words = (search ?? '').toLowerCase().split(/\s+/).filter(Boolean)
  return (row) => {
    if (group && row.group !== group) return false
    if (endpoint && row.endpoint !== endpoint) return false
    if (scope && (scope === 'everyone') !== (row.scope === 'everyone') && row.scope !== scope) return false
    if (tag && !row.tags.includes(tag)) return false
    const url = row.url.toLowerCase()
    return words.every((word) => url.includes(word) || row.key.toLowerCase().startsWith(word))
  }
}

/** Equal entries are ordered by key, so that an entry appears on exactly one page. */
function comparatorOf(field: SortField, descending: boolean): Compare<IndexEntry> {
  const sign = descending ? -1 : 1
  return (a, b) => {
    const [left, right] = [a[field], b[field]]
    if (left !== right) return left < right ? -sign : sign
    return a.key < b.key ? -1 : 1
  }
}
