/** The entries of the cache, searched, sorted and in pages, for the console. */

import { setTimeout as sleep } from 'node:timers/promises'
import { type Static, Type } from 'typebox'
import { compileMatching } from '../../../src/collections/collect.ts'
import { cacheEntries } from '../../../src/collections/sources.ts'
import { type IndexEntry, shownEntry } from '../../../src/core/cache-entries.ts'
import type { CacheIndex } from '../../../src/core/cache-index.ts'
import { selectFirst } from '../../../src/core/long-lists.ts'
import { growingLru } from '../../../src/core/recently-used.ts'
import type { EntryPage } from './cache-types.ts'

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
  all(): Promise<Pick<IndexSnapshot, 'rows' | 'partial'>>
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
    all: snapshots.current,
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

interface IndexSnapshot {
  readonly rows: readonly IndexEntry[]
  /** Time of the read, in milliseconds of the clock. */
  readonly readAt: number
  /** Milliseconds before the index is read again. */
  readonly lifetime: number
  /** The read has not finished; more rows follow. */
  readonly partial: boolean
}

interface IndexSnapshots {
  /** Returns the last snapshot if it is recent; else a new one, which is partial if the read takes longer than a second. */
  current(): Promise<IndexSnapshot>
  /** As `current`, but waits until the read has finished. */
  complete(): Promise<IndexSnapshot>
  /** Discards what was read. A read that has not begun serves all requests that came before it begins. */
  refresh(): void
}

const MIN_LIFETIME_MS = 2000
/** Lifetime of a snapshot in multiples of the time that its read took. */
const LIFETIME_PER_READ_TIME = 8
/** `current` waits so long for a complete snapshot. */
const MAX_WAIT_MS = 1000
/** Without requests the snapshot is discarded after this time, to free its memory. */
const IDLE_MS = 60_000

/**
 * Snapshots of the cache index. One read of the index serves many requests of the console. Reads take at most a ninth
 * of the time, however many consoles are open. After a purge by any replica, what was read before is discarded. Purges
 * may be more frequent than reads are long, so a new read waits for the end of the read in progress.
 */
function createIndexSnapshots(index: Pick<CacheIndex, 'list' | 'purgeCount'>, clock: () => number): IndexSnapshots {
  let last: IndexSnapshot | undefined
  let reading: IndexRead | undefined
  let purges = index.purgeCount()
  let idleTimer: NodeJS.Timeout | undefined
  /** Ends with the read in progress. */
  let running: Promise<unknown> | undefined
  const startRead = (): IndexRead => {
    const read = readIndex(index, clock, running)
    const ended = read.complete
      .catch(() => {})
      .then(() => {
        if (running === ended) running = undefined
      })
    running = ended
    // If there was a purge meanwhile, the snapshot is outdated.
    const end = (snapshot?: IndexSnapshot): void => {
      if (reading !== read) return
      reading = undefined
      last = snapshot ?? last
    }
    read.complete.then(end, () => end())
    return read
  }
  const discard = (): void => {
    last = undefined
    // A read that has not begun finds no purged entry.
    if (reading?.hasBegun() === true) reading = undefined
    purges = index.purgeCount()
  }
  /** Returns a snapshot that is recent enough, or the read to wait for. */
  const best = (): IndexSnapshot | IndexRead => {
    clearTimeout(idleTimer)
    idleTimer = setTimeout(discard, IDLE_MS).unref()
    if (index.purgeCount() !== purges) discard()
    const age = last === undefined ? Number.POSITIVE_INFINITY : clock() - last.readAt
    if (last !== undefined && age < last.lifetime) return last
    reading ??= startRead()
    // If the read takes long, the last snapshot serves until it is three lifetimes old.
    return last !== undefined && last.lifetime > MIN_LIFETIME_MS && age < 3 * last.lifetime ? last : reading
  }
  return {
    current: async () => {
      const found = best()
      if (!('complete' in found)) return found
      return (await Promise.race([found.complete, sleep(MAX_WAIT_MS, undefined, { ref: false })])) ?? found.soFar()
    },
    refresh: discard,
    complete: async () => {
      const found = best()
      return 'complete' in found ? found.complete : found
    },
  }
}

/** A read of the index that is in progress, or that waits for another one. */
interface IndexRead {
  readonly complete: Promise<IndexSnapshot>
  hasBegun(): boolean
  soFar(): IndexSnapshot
}

/** `after`: the end of the read in progress. */
function readIndex(
  index: Pick<CacheIndex, 'list'>,
  clock: () => number,
  after: Promise<unknown> | undefined,
): IndexRead {
  let began: number | undefined
  let received: readonly IndexEntry[] = []
  const list = async (): Promise<IndexSnapshot> => {
    if (after !== undefined) await after
    const start = clock()
    began = start
    const rows = await index.list(undefined, (some) => {
      received = some
    })
    const readAt = clock()
    const lifetime = Math.max(MIN_LIFETIME_MS, (readAt - start) * LIFETIME_PER_READ_TIME)
    return { rows, readAt, lifetime, partial: false }
  }
  return {
    complete: list(),
    hasBegun: () => began !== undefined,
    soFar: () => ({ rows: [...received], readAt: clock(), lifetime: 0, partial: true }),
  }
}
