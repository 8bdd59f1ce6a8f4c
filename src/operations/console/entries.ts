/**
 * The index of kept answers as the console asks for it. Reading all of it costs: it is read once for many questions,
 * and never takes more than a small share of the time, however often somebody looks.
 */
import type { AnswerIndex, IndexRow } from '../../pipeline/kept.ts'
import type { EntryLine, EntryPage } from './answers/cache.ts'
import { pickAndSort } from './in-turns.ts'

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
  /** All of them, and the milliseconds since they were read. */
  all(): Promise<{ readonly rows: readonly IndexRow[]; readonly age: number }>
  page(query: EntriesQuery): Promise<EntryPage>
  find(key: string): Promise<IndexRow | undefined>
  /** What was read is not true any more. */
  forget(): void
}

interface Snapshot {
  readonly rows: readonly IndexRow[]
  readonly at: number
  /** Milliseconds for which it is not read anew. */
  readonly good: number
  readonly found: Map<string, Promise<Found>>
}
interface Found {
  readonly rows: readonly IndexRow[]
  readonly bytes: number
}

const SHORTEST = 2000
/** Reading takes one part in so many of the time. */
const SHARE = 8
/** Searches that are remembered for one reading, so that the next page costs nothing. */
const SEARCHES = 8
const FEWEST = 100
const MOST = 500

export const sortable = ['url', 'group', 'endpoint', 'scope', 'size', 'age', 'timeLeft', 'hits', 'cost'] as const
type Field = (typeof sortable)[number]

export function createEntries(index: AnswerIndex, clock: () => number = () => performance.now()): Entries {
  let snapshot: Snapshot | undefined
  let reading: Promise<Snapshot> | undefined
  const read = async (): Promise<Snapshot> => {
    const began = clock()
    const rows = await index.rows()
    const at = clock()
    return { rows, at, good: Math.max(SHORTEST, (at - began) * SHARE), found: new Map() }
  }
  const current = async (): Promise<Snapshot> => {
    if (snapshot !== undefined && clock() - snapshot.at < snapshot.good) return snapshot
    reading ??= read().finally(() => {
      reading = undefined
    })
    const mine = reading
    // Whoever has something young enough to show does not wait for a long reading.
    if (snapshot !== undefined && snapshot.good > SHORTEST && clock() - snapshot.at < 3 * snapshot.good) {
      mine.then((newer) => {
        snapshot = newer
      }, ignore)
      return snapshot
    }
    snapshot = await mine
    return snapshot
  }
  const all: Entries['all'] = async () => {
    const { rows, at } = await current()
    return { rows, age: clock() - at }
  }
  return {
    all,
    page: async (query) => {
      const used = await current()
      const since = clock() - used.at
      const found = await search(used, query)
      const offset = query.offset ?? 0
      const some = found.rows.slice(offset, offset + Math.min(MOST, query.limit ?? FEWEST))
      const items = some.map((row) => lineOf(row, since))
      return { age: since, total: found.rows.length, all: used.rows.length, bytes: found.bytes, offset, items }
    },
    find: async (key) => (await all()).rows.find((row) => row.key === key),
    forget: () => {
      snapshot = undefined
      reading = undefined
    },
  }
}

/** A row as it is now, so long after it was read. */
export function lineOf(row: IndexRow, since: number): EntryLine {
  const { key, url, group, endpoint, scope, tags, size, hits } = row
  const times = { age: Math.round(row.age + since), timeLeft: Math.round(row.timeLeft - since) }
  return { key, url, group, endpoint, scope, tags, size, hits, cost: Math.round(row.cost), ...times }
}

function search({ rows, found }: Snapshot, query: EntriesQuery): Promise<Found> {
  const { offset: _, limit: __, ...asked } = query
  const name = JSON.stringify(asked)
  const before = found.get(name)
  if (before !== undefined) return before
  const result = find(rows, query)
  const oldest = found.keys().next()
  if (found.size >= SEARCHES && !oldest.done) found.delete(oldest.value)
  found.set(name, result)
  return result
}

async function find(all: readonly IndexRow[], query: EntriesQuery): Promise<Found> {
  const field = sortable.find((each) => each === query.sort?.replace(/^-/, '')) ?? 'url'
  const rows = await pickAndSort(all, matcher(query), order(field, query.sort?.startsWith('-') ?? false))
  return { rows, bytes: rows.reduce((sum, { size }) => sum + size, 0) }
}

function matcher({ search, group, tag, scope, endpoint }: EntriesQuery): (row: IndexRow) => boolean {
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
function order(field: Field, reverse: boolean): (a: IndexRow, b: IndexRow) => number {
  const sign = reverse ? -1 : 1
  return (a, b) => {
    const [left, right] = [a[field], b[field]]
    if (left !== right) return left < right ? -sign : sign
    return a.key < b.key ? -1 : 1
  }
}

function ignore(): void {
  // The next question tries again.
}
