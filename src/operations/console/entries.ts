/**
 * The index of kept answers as the console asks for it. Reading all of it costs: it is read once for many questions,
 * and never takes more than a small share of the time, however often somebody looks.
 */
import { setTimeout } from 'node:timers/promises'
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

/** What was read of the index, a while ago. */
export interface Reading {
  readonly rows: readonly IndexRow[]
  /** Milliseconds since. */
  readonly age: number
  /** There are more, which are being read. */
  readonly unfinished: boolean
}

export interface Entries {
  /** All of them, or those that a long reading has come to. */
  all(): Promise<Reading>
  page(query: EntriesQuery): Promise<EntryPage>
  /** The entry of that key, as it was read so many milliseconds ago. */
  find(key: string): Promise<{ readonly row: IndexRow; readonly age: number } | undefined>
  /** What was read is not true any more. */
  forget(): void
}

interface Snapshot {
  readonly rows: readonly IndexRow[]
  readonly at: number
  /** Milliseconds for which it is not read anew. */
  readonly good: number
  readonly unfinished: boolean
  readonly found: Map<string, Promise<Found>>
}

interface UnderWay {
  readonly whole: Promise<Snapshot>
  soFar(): Snapshot
}

interface Found {
  readonly rows: readonly IndexRow[]
  readonly bytes: number
}

const SHORTEST = 2000
/** So long a question waits for all of it. */
const PATIENCE = 1000
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
  let reading: UnderWay | undefined
  const snapshotOf = (rows: readonly IndexRow[], good: number, unfinished = false): Snapshot => {
    return { rows, at: clock(), good, unfinished, found: new Map() }
  }
  const read = async (heard: (rows: readonly IndexRow[]) => void): Promise<Snapshot> => {
    const began = clock()
    const rows = await index.rows(undefined, heard)
    return snapshotOf(rows, Math.max(SHORTEST, (clock() - began) * SHARE))
  }
  const begin = (): UnderWay => {
    let rows: readonly IndexRow[] = []
    const whole = read((some) => {
      rows = some
    })
    const mine: UnderWay = { whole, soFar: () => snapshotOf([...rows], 0, true) }
    // One that was forgotten meanwhile is not to be remembered.
    const end = (read?: Snapshot): void => {
      if (reading !== mine) return
      reading = undefined
      snapshot = read ?? snapshot
    }
    whole.then(end, () => end())
    reading = mine
    return mine
  }
  const current = async (): Promise<Snapshot> => {
    const age = snapshot === undefined ? Number.POSITIVE_INFINITY : clock() - snapshot.at
    if (snapshot !== undefined && age < snapshot.good) return snapshot
    const mine = reading ?? begin()
    // Whoever has something young enough to show does not wait for a long reading.
    if (snapshot !== undefined && snapshot.good > SHORTEST && age < 3 * snapshot.good) return snapshot
    const late = setTimeout(PATIENCE, undefined, { ref: false })
    return (await Promise.race([mine.whole, late])) ?? mine.soFar()
  }
  return {
    all: async () => {
      const { rows, at, unfinished } = await current()
      return { rows, age: clock() - at, unfinished }
    },
    page: async (query) => {
      const used = await current()
      const found = await search(used, query)
      const since = clock() - used.at
      const offset = query.offset ?? 0
      const some = found.rows.slice(offset, offset + Math.min(MOST, query.limit ?? FEWEST))
      const items = some.map((row) => lineOf(row, since))
      const { rows, unfinished } = used
      return { age: since, unfinished, total: found.rows.length, all: rows.length, bytes: found.bytes, offset, items }
    },
    find: async (key) => {
      const seek = ({ rows, at }: Snapshot) => {
        const row = rows.find((each) => each.key === key)
        return row && { row, age: clock() - at }
      }
      const used = await current()
      return seek(used) ?? (used.unfinished && reading !== undefined ? seek(await reading.whole) : undefined)
    },
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
