/**
 * Joins the rows of several inputs into one page by a k-way merge over bytes. Rows are read only as far as the page
 * reaches, and only for their sort keys; the page is spliced from the bytes of the responses. Rows with equal keys are
 * ordered by their inputs, then by their order within the input, so pages are disjoint and their union is every row once.
 *
 * An input that its node has sorted is merged as it comes. If one of its rows is out of order, the merge starts again and
 * sorts all rows of that input first. Long merges yield to the event loop every few milliseconds.
 */
import { type CooperativeTask, isTurnOver, PAUSE, runTask } from '../core/turns.ts'
import { parseSorting } from './order.ts'
import { createPageWriter, type InjectedMembers, readLongRow } from './page-writer.ts'
import { compareSortKeys, createSortKeyReader, defaultSortKeyReader } from './sort-keys.ts'
import { addInOrder } from './sorted-list.ts'
import {
  createFetchedPages,
  type FetchedPages,
  fetchAllPages,
  firstRow,
  InputError,
  type InputPages,
  type RowReader,
  type RowRef,
  type RowStream,
  readRows,
  sortRows,
} from './sorted-rows.ts'
import type { Source } from './sources.ts'

/** After this many restarts because of unsorted rows, all inputs are sorted at once. */
const MAX_RESTARTS = 4

export interface MergeInput extends InputPages {
  /** The number of different rows, if the total of the node counts some of them twice. */
  readonly total?: number
  /** Whether the node has sorted its rows as requested; otherwise all rows are read and sorted by the merge. */
  readonly isSorted: boolean
  readonly inject?: InjectedMembers
}

export interface MergeOptions {
  /** The text of `sort`; undefined: the default sort of the source. */
  readonly sort: string | undefined
  readonly source: Source
  /** The number of sort fields that take precedence over the order of the inputs. Default: all. */
  readonly fieldsBeforeInput?: number
  readonly offset: number
  readonly limit: number
  /** Fields that were requested only to sort by them, and are removed from the rows. */
  readonly drop?: readonly string[]
}

interface MergedRows {
  readonly ok: true
  /** The text between `[` and `]`, with commas. */
  readonly chunks: readonly Buffer[]
  readonly total: number
  /** Rows on this page by input. */
  readonly rowsTaken: readonly number[]
}

/** One input cannot be merged: its rows are unreadable, or `fetchMore` rejected (`cause`). */
export interface MergeFailure {
  readonly ok: false
  readonly input: number
  readonly reason: string
  readonly cause?: unknown
}

type MergeResult = MergedRows | MergeFailure

/**
 * Merges one page. Returns without a promise if nothing must be fetched and the work is short. Throws CollectionError
 * 1403 and 1404 for a sort that the source does not support.
 */
export function mergeRows(inputs: readonly MergeInput[], options: MergeOptions): MergeResult | Promise<MergeResult> {
  return runTask(merge(inputs, options))
}

interface MergeState {
  readonly inputs: readonly MergeInput[]
  readonly options: MergeOptions
  /** The sum of the totals of all inputs. */
  readonly total: number
  readonly fetched: readonly FetchedPages[]
  readonly reader: RowReader
  /** The inputs whose rows are read to the end and sorted: their nodes do not sort them, or not in the order of the merge. */
  readonly toSort: Set<number>
}

function* merge(inputs: readonly MergeInput[], options: MergeOptions): CooperativeTask<MergeResult> {
  try {
    const { sort, source, drop = [] } = options
    const keyReader =
      sort === undefined
        ? defaultSortKeyReader(source)
        : createSortKeyReader(parseSorting(sort, source, yield* firstRow(inputs, source)), source)
    let total = 0
    for (const { rows, total: ofInput = rows.total } of inputs) total += ofInput
    const fetched = inputs.map(createFetchedPages)
    const toSort = new Set<number>()
    for (const [input, { isSorted }] of inputs.entries()) if (!isSorted) toSort.add(input)
    // A page behind the last row needs no further rows.
    if (options.offset >= total) for (const pages of fetched) pages.isComplete = true
    const state: MergeState = {
      inputs,
      options,
      total,
      fetched,
      reader: { ...keyReader, readLong: (row) => readLongRow(row, drop, source) },
      toSort,
    }
    for (let attempt = 1; ; attempt++) {
      if (attempt > MAX_RESTARTS) for (const { input } of fetched) toSort.add(input)
      const merged = yield* tryMerge(state)
      if (merged) return merged
    }
  } catch (error) {
    if (!(error instanceof InputError)) throw error
    const { input, reason, cause } = error
    return { ok: false, input, reason, ...(cause !== undefined && { cause }) }
  }
}

/** An input whose next row is `current`, with the rows behind it. */
interface OpenInput {
  readonly input: number
  readonly rows: RowStream
  current: RowRef
}

/** Returns undefined if an input is out of order; the input is in `toSort` then. */
function* tryMerge(state: MergeState): CooperativeTask<MergedRows | undefined> {
  const { inputs, options, total, reader, toSort } = state
  const { sign } = reader
  const end = options.limit > 0 ? options.offset + options.limit : 0
  /** The last one has the next row of the page. */
  const open: OpenInput[] = []
  const isBefore = (a: OpenInput, b: OpenInput) => {
    const order = sign * compareSortKeys(a.current.keys, b.current.keys, options.fieldsBeforeInput)
    return order === 0 ? a.input < b.input : order < 0
  }
  for (const [input, rows] of (yield* openInputs(state, end)).entries()) {
    let first = rows.next().value
    while (first instanceof Promise) first = rows.next(yield first).value
    if (first !== undefined) addInOrder(open, { input, rows, current: first }, isBefore)
    // There may be thousands of agents.
    if (isTurnOver()) yield PAUSE
  }
  const writer = createPageWriter(inputs, options.source, options.drop)
  const rowsTaken: number[] = new Array(inputs.length).fill(0)
  for (let at = 0; at < end; at++) {
    const top = open.pop()
    if (top === undefined) break
    const { input, rows, current } = top
    if (at >= options.offset) {
      writer.add(current, input)
      rowsTaken[input] = (rowsTaken[input] ?? 0) + 1
    }
    if (at + 1 === end) break
    let next = rows.next().value
    while (next instanceof Promise) next = rows.next(yield next).value
    if (next !== undefined) {
      if (sign * compareSortKeys(current.keys, next.keys) > 0) {
        toSort.add(input)
        return undefined
      }
      top.current = next
      addInOrder(open, top, isBefore)
    }
    if (isTurnOver()) yield PAUSE
  }
  return { ok: true, chunks: writer.end(), total, rowsTaken }
}

/** Returns the rows of each input, sorted. `end`: how many rows the merge needs. */
function* openInputs({ fetched, reader, toSort }: MergeState, end: number): CooperativeTask<RowStream[]> {
  const fetching: Promise<void>[] = []
  for (const pages of fetched) if (toSort.has(pages.input) && !pages.isComplete) fetching.push(fetchAllPages(pages))
  if (fetching.length > 0) yield Promise.all(fetching)
  const opened: RowStream[] = []
  for (const pages of fetched) {
    const rows = readRows(pages, reader)
    opened.push(toSort.has(pages.input) ? yield* sortRows(rows, reader.sign, end) : rows)
  }
  return opened
}
