/** The entries of the cache, searched, sorted and in pages, for the console. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { CacheIndex, IndexEntry } from '../../core/response.ts'
import type { EntryPage, EntrySummary } from './api-types.ts'
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
}

export interface EntryList {
  /** Returns all entries, or those that a long read of the index has returned so far. */
  all(): Promise<Pick<IndexSnapshot, 'rows' | 'partial'> & { readonly age: number }>
  page(query: EntryQuery): Promise<EntryPage>
  /** Returns the entry with the key, and the milliseconds since it was read. */
  find(key: string): Promise<{ readonly row: IndexEntry; readonly age: number } | undefined>
  /** Discards what was read before a purge. */
  discard(): void
}

interface SearchResult {
  readonly rows: readonly IndexEntry[]
  readonly bytes: number
}

/** Search results to remember per snapshot, so that the next page is read without another search. */
const MAX_SEARCHES = 8
const DEFAULT_PAGE_ENTRIES = 100
const MAX_PAGE_ENTRIES = 500
/** Entries to filter and sort before other events of the loop are served; takes a few milliseconds. */
const ENTRIES_PER_TURN = 4096

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
  index: Pick<CacheIndex, 'list'>,
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
      const found = await search(snapshot, query)
      const age = clock() - snapshot.readAt
      const offset = query.offset ?? 0
      const rows = found.rows.slice(offset, offset + Math.min(MAX_PAGE_ENTRIES, query.limit ?? DEFAULT_PAGE_ENTRIES))
      return {
        age,
        partial: snapshot.partial,
        total: found.rows.length,
        all: snapshot.rows.length,
        bytes: found.bytes,
        offset,
        items: rows.map((row) => summaryOf(row, age)),
      }
    },
    find: async (key) => {
      const findIn = ({ rows, readAt }: IndexSnapshot) => {
        const row = rows.find((each) => each.key === key)
        return row && { row, age: clock() - readAt }
      }
      const snapshot = await snapshots.current()
      return findIn(snapshot) ?? (snapshot.partial ? findIn(await snapshots.complete()) : undefined)
    },
    discard: snapshots.discard,
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

/** Returns a search that remembers the last results of each snapshot. */
function createSearch(): (snapshot: IndexSnapshot, query: EntryQuery) => Promise<SearchResult> {
  const resultsOf = new WeakMap<IndexSnapshot, Map<string, Promise<SearchResult>>>()
  return (snapshot, query) => {
    const { offset: _, limit: __, ...criteria } = query
    const id = JSON.stringify(criteria)
    const results = resultsOf.get(snapshot) ?? new Map<string, Promise<SearchResult>>()
    resultsOf.set(snapshot, results)
    const known = results.get(id)
    if (known !== undefined) return known
    const result = find(snapshot.rows, query)
    const oldest = results.keys().next()
    if (results.size >= MAX_SEARCHES && !oldest.done) results.delete(oldest.value)
    results.set(id, result)
    return result
  }
}

async function find(all: readonly IndexEntry[], query: EntryQuery): Promise<SearchResult> {
  const field = SORT_FIELDS.find((each) => each === query.sort?.replace(/^-/, '')) ?? 'url'
  const rows = await filterAndSort(all, matcherOf(query), comparatorOf(field, query.sort?.startsWith('-') ?? false))
  return { rows, bytes: rows.reduce((sum, { size }) => sum + size, 0) }
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
function comparatorOf(field: SortField, descending: boolean): (a: IndexEntry, b: IndexEntry) => number {
  const sign = descending ? -1 : 1
  return (a, b) => {
    const [left, right] = [a[field], b[field]]
    if (left !== right) return left < right ? -sign : sign
    return a.key < b.key ? -1 : 1
  }
}

/** Merge sort that yields to the event loop after each `ENTRIES_PER_TURN` entries. */
async function filterAndSort<T>(
  all: readonly T[],
  matches: (item: T) => boolean,
  compare: (a: T, b: T) => number,
): Promise<readonly T[]> {
  let runs: T[][] = []
  for (let at = 0; at < all.length; at += ENTRIES_PER_TURN) {
    runs.push(
      all
        .slice(at, at + ENTRIES_PER_TURN)
        .filter(matches)
        .sort(compare),
    )
    await nextTurn()
  }
  while (runs.length > 1) {
    const merged: T[][] = []
    for (let at = 0; at < runs.length; at += 2) merged.push(await merge(runs[at] ?? [], runs[at + 1] ?? [], compare))
    runs = merged
  }
  return runs[0] ?? []
}

async function merge<T>(left: readonly T[], right: readonly T[], compare: (a: T, b: T) => number): Promise<T[]> {
  const merged: T[] = []
  let [l, r] = [0, 0]
  while (l < left.length || r < right.length) {
    const [a, b] = [left[l], right[r]]
    if (b === undefined || (a !== undefined && compare(a, b) <= 0)) {
      if (a !== undefined) merged.push(a)
      l += 1
    } else {
      merged.push(b)
      r += 1
    }
    if (merged.length % ENTRIES_PER_TURN === 0) await nextTurn()
  }
  return merged
}
