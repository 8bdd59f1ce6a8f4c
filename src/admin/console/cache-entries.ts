/** The entries of the cache, searched, sorted and in pages, for the console. */

import { type Static, Type } from 'typebox'
import { type IndexEntry, shownEntry } from '../../core/cache.ts'
import { growingLru } from '../../core/recently-used.ts'
import type { CacheIndex } from '../../core/response.ts'
import { selectFirst } from '../../core/turns.ts'
import { compileMatching } from '../../query/collect.ts'
import { cacheEntries } from '../../query/sources.ts'
import type { EntryPage } from './cache-types.ts'
import { createIndexSnapshots, type IndexSnapshot } from './index-snapshots.ts'

const text = Type.Optional(Type.String({ maxLength: 2048 }))
const filters = { search: text, group: text, tag: text, scope: text, endpoint: text }
export const selectionQuery = Type.Object(filters, { additionalProperties: false })
/** Reads the index again, though it was read a moment ago. */
export const refresh = Type.Optional(Type.Boolean())
export const entryQuery = Type.Object(
  {
    ...filters,
    refresh,
    /** A leading `-` sorts in descending order. */
    sort: Type.Optional(Type.String({ pattern: `^-?(?:${cacheEntries.sortable?.join('|')})$` })),
    offset: Type.Optional(Type.Integer({ minimum: 0 })),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 500 })),
  },
  { additionalProperties: false },
)
export type EntryQuery = Static<typeof entryQuery>

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
        items: found.rows.slice(offset, end).map((row) => shownEntry(row, age)),
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

/** Returns a search that remembers the last results of each snapshot. `asked`: the number of rows that it must sort. */
function createSearch(): (snapshot: IndexSnapshot, query: EntryQuery, asked: number) => Promise<SearchResult> {
  const searchesOf = new WeakMap<IndexSnapshot, ReturnType<typeof growingLru<string, Search>>>()
  return (snapshot, query, asked) => {
    const { offset: _, limit: __, refresh: ___, ...criteria } = query
    const id = JSON.stringify(criteria)
    const searches = searchesOf.get(snapshot) ?? growingLru<string, Search>(MAX_SEARCHES)
    searchesOf.set(snapshot, searches)
    const known = searches.get(id)
    if (known !== undefined && known.count >= Math.min(asked, snapshot.rows.length)) return known.result
    const count = Math.max(MIN_SORTED_ROWS, SORTED_PER_ASKED * asked)
    const result = find(snapshot.rows, query, count)
    searches.set(id, { count, result })
    return result
  }
}

async function find(all: readonly IndexEntry[], query: EntryQuery, count: number): Promise<SearchResult> {
  const { search = '', group, tag, scope, endpoint, sort = 'url' } = query
  const words = search.toLowerCase().split(/\s+/).filter(Boolean)
  const named = Object.entries({ group, tag, endpoint }).filter((filter): filter is [string, string] => !!filter[1])
  // Equal entries are ordered by key, so that an entry appears on exactly one page.
  const request = { filters: Object.fromEntries(named), sort: `${sort},key`, now: new Date() }
  const { pick, compare } = compileMatching(request, cacheEntries, [], (entry: IndexEntry) => ({ ...entry }))
  let bytes = 0
  const pickEntry = (entry: IndexEntry) => {
    const match = isOfScope(entry, scope) && hasWords(entry, words) ? pick(entry) : undefined
    if (match !== undefined) bytes += entry.size
    return match
  }
  const { first, total } = await selectFirst(all, pickEntry, compare, count)
  return { rows: first.map(({ item }) => item), total, bytes }
}

/** `scope`: `everyone`, or any other text for all entries of certain permissions. */
function isOfScope(entry: IndexEntry, scope: string | undefined): boolean {
  return !scope || (scope === 'everyone') === (entry.scope === 'everyone')
}

function hasWords({ url, key }: IndexEntry, words: readonly string[]): boolean {
  if (words.length === 0) return true
  const [lowerUrl, lowerKey] = [url.toLowerCase(), key.toLowerCase()]
  return words.every((word) => lowerUrl.includes(word) || lowerKey.startsWith(word))
}
