import { setImmediate as turn } from 'node:timers/promises'
import type { CacheIndex, IndexEntry } from '../../core/response.ts'
import type { EntryLine, EntryPage } from './api-types.ts'
import { createSnapshots, type Snapshot } from './index-snapshots.ts'

/** The index of kept answers as the console asks for it: searched, sorted, page by page. */

export interface EntriesQuery {
  readonly search?: string | undefined
  readonly group?: string | undefined
  readonly tag?: string | undefined
  readonly scope?: string | undefined
  readonly endpoint?: string | undefined
  /** A field, `-` in front: the other way round. */
  readonly sort?: string | undefined
  readonly offset?: number | undefined
  readonly limit?: number | undefined
}

export interface Entries {
  /** All of them, or those that a long reading has come to. */
  all(): Promise<Pick<Snapshot, 'rows' | 'unfinished'> & { readonly age: number }>
  page(query: EntriesQuery): Promise<EntryPage>
  /** The entry of that key, as it was read so many milliseconds ago. */
  find(key: string): Promise<{ readonly row: IndexEntry; readonly age: number } | undefined>
  /** What was read is not true any more. */
  forget(): void
}

interface Found {
  readonly rows: readonly IndexEntry[]
  readonly bytes: number
}

/** Searches that are remembered of one snapshot, so that the next page costs nothing. */
const SEARCHES = 8
const FEWEST = 100
const MOST = 500

export const sortable = ['url', 'group', 'endpoint', 'scope', 'size', 'age', 'timeLeft', 'hits', 'cost'] as const
type Field = (typeof sortable)[number]

export function createEntries(index: Pick<CacheIndex, 'list'>, clock: () => number = () => performance.now()): Entries {
  const snapshots = createSnapshots(index, clock)
  const search = searches()
  return {
    all: async () => {
      const { rows, unfinished, at } = await snapshots.current()
      return { rows, unfinished, age: clock() - at }
    },
    page: async (query) => {
      const snapshot = await snapshots.current()
      const found = await search(snapshot, query)
      const age = clock() - snapshot.at
      const offset = query.offset ?? 0
      const some = found.rows.slice(offset, offset + Math.min(MOST, query.limit ?? FEWEST))
      const items = some.map((row) => lineOf(row, age))
      const { rows, unfinished } = snapshot
      return { age, unfinished, total: found.rows.length, all: rows.length, bytes: found.bytes, offset, items }
    },
    find: async (key) => {
      const seek = ({ rows, at }: Snapshot) => {
        const row = rows.find((each) => each.key === key)
        return row && { row, age: clock() - at }
      }
      const snapshot = await snapshots.current()
      return seek(snapshot) ?? (snapshot.unfinished ? seek(await snapshots.whole()) : undefined)
    },
    forget: snapshots.forget,
  }
}

/** A row as it is now, so long after it was read. */
export function lineOf(row: IndexEntry, since: number): EntryLine {
  const { key, url, group, endpoint, scope, tags, size, hits } = row
  const times = { age: Math.round(row.age + since), timeLeft: Math.round(row.timeLeft - since) }
  return { key, url, group, endpoint, scope, tags, size, hits, cost: Math.round(row.fetchTime), ...times }
}

/** What was found of a snapshot is remembered as long as the snapshot is. */
function searches(): (snapshot: Snapshot, query: EntriesQuery) => Promise<Found> {
  const known = new WeakMap<Snapshot, Map<string, Promise<Found>>>()
  return (snapshot, query) => {
    const { offset: _, limit: __, ...asked } = query
    const name = JSON.stringify(asked)
    const found = known.get(snapshot) ?? new Map<string, Promise<Found>>()
    known.set(snapshot, found)
    const before = found.get(name)
    if (before !== undefined) return before
    const result = find(snapshot.rows, query)
    const oldest = found.keys().next()
    if (found.size >= SEARCHES && !oldest.done) found.delete(oldest.value)
    found.set(name, result)
    return result
  }
}

async function find(all: readonly IndexEntry[], query: EntriesQuery): Promise<Found> {
  const field = sortable.find((each) => each === query.sort?.replace(/^-/, '')) ?? 'url'
  const rows = await pickAndSort(all, matcher(query), order(field, query.sort?.startsWith('-') ?? false))
  return { rows, bytes: rows.reduce((sum, { size }) => sum + size, 0) }
}

function matcher({ search, group, tag, scope, endpoint }: EntriesQuery): (row: IndexEntry) => boolean {
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

/** Equal ones by their key, so that pages fit together. */
function order(field: Field, reverse: boolean): (a: IndexEntry, b: IndexEntry) => number {
  const sign = reverse ? -1 : 1
  return (a, b) => {
    const [left, right] = [sortValueOf(a, field), sortValueOf(b, field)]
    if (left !== right) return left < right ? -sign : sign
    return a.key < b.key ? -1 : 1
  }
}

/** Returns the value to sort by. The console API calls the fetch time `cost`. */
function sortValueOf(entry: IndexEntry, field: Field): string | number {
  return field === 'cost' ? entry.fetchTime : entry[field]
}

/** Work over long lists in turns: requests are answered between them. */

/** What is done without a pause: some milliseconds. */
const SOME = 4096

/** Those that are wanted, in order; equal ones keep theirs. */
export async function pickAndSort<T>(
  all: readonly T[],
  wanted: (one: T) => boolean,
  compare: (a: T, b: T) => number,
): Promise<readonly T[]> {
  let runs: T[][] = []
  for (let at = 0; at < all.length; at += SOME) {
    runs.push(
      all
        .slice(at, at + SOME)
        .filter(wanted)
        .sort(compare),
    )
    await turn()
  }
  while (runs.length > 1) {
    const longer: T[][] = []
    for (let at = 0; at < runs.length; at += 2) longer.push(await merge(runs[at] ?? [], runs[at + 1] ?? [], compare))
    runs = longer
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
    if (merged.length % SOME === 0) await turn()
  }
  return merged
}
