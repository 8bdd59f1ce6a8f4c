/**
 * The sorted sequences that a merge reads from: the pages of an input that its node has sorted, read row by row, or a run
 * of rows that the edge has sorted; and the heap that finds the next one.
 */
import { type CooperativeTask, isTurnOver, isTurnOverNow, PAUSE } from '../core/turns.ts'
import { advanceRow, createRowCursor, isLongRow, type RowCursor, type Rows, UnreadableRowsError } from './rows.ts'
import { compareSortKeys, type SortKeyReader, type SortKeys } from './sort-keys.ts'

/** Sorting more rows at once would block the event loop. */
const MAX_RUN_ROWS = 2000

/** One input of a merge cannot be read; the others can be merged without it. */
export class InputError extends Error {
  readonly input: number
  readonly reason: string

  constructor(input: number, reason: string, cause?: unknown) {
    super(`Input ${input} cannot be merged: ${reason}`, { cause })
    this.name = 'InputError'
    this.input = input
    this.reason = reason
  }
}

/** Runs `read`, and turns unreadable rows into an error of the input. */
export function readInput<T>(input: number, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw ofInput(input, error)
  }
}

function ofInput(input: number, error: unknown): unknown {
  return error instanceof UnreadableRowsError ? new InputError(input, error.reason) : error
}

/** A row that is too long to be scanned at once. */
export interface LongRow {
  /** Its value. */
  readonly element: unknown
  /** Its text without the fields that are removed. */
  readonly bytes: Buffer
}

export interface RowReader extends SortKeyReader {
  readLong(row: Buffer): Promise<LongRow>
}

/** A row in the bytes of its page. */
export interface RowRef {
  readonly page: Rows
  readonly from: number
  readonly to: number
  /** Position among the rows of its page. */
  readonly index: number
  readonly keys: SortKeys
  readonly long?: LongRow
}

/** `wait`: the next page must be fetched, or a long row be read, first. `unsorted`: the next row should have come earlier. */
export type StepResult = 'row' | 'end' | 'wait' | 'unsorted'

export interface SortedRows {
  readonly input: number
  /** Rows with equal keys are ordered by this; sequences have the order of their inputs. */
  readonly position: number
  current: RowRef | undefined
  /** Moves to the next row. */
  step(): StepResult
  /** To be awaited after `wait`. */
  prepare(): Promise<unknown>
}

/** The pages of an input that were fetched; a merge that starts again need not fetch them twice. */
export interface FetchedPages {
  readonly input: number
  readonly pages: Rows[]
  isComplete: boolean
  /** Fetches one more page; resolves to false if there is none. */
  fetchNext(): Promise<boolean>
}

export function createFetchedPages(
  first: Rows,
  fetchMore: ((at: number) => Promise<Rows | undefined>) | undefined,
  input: number,
): FetchedPages {
  const fetched: FetchedPages = { input, pages: [first], isComplete: fetchMore === undefined, fetchNext }
  return fetched

  async function fetchNext(): Promise<boolean> {
    const next = await fetchMore?.(fetched.pages.length - 1).catch((cause: unknown) => {
      throw new InputError(input, 'its next page cannot be fetched', cause)
    })
    if (next) fetched.pages.push(next)
    else fetched.isComplete = true
    return next !== undefined
  }
}

export async function fetchAllPages(fetched: FetchedPages): Promise<void> {
  while (await fetched.fetchNext()) {}
}

/** Reads the pages of an input that its node has sorted. */
export function createPagedRows(fetched: FetchedPages, position: number, reader: RowReader, sign: 1 | -1): SortedRows {
  let page = 0
  let cursor: RowCursor | undefined
  let isAtLong = false
  let long: LongRow | undefined
  const { input } = fetched
  const rows: SortedRows = { input, position, current: undefined, step: () => readInput(input, step), prepare }
  return rows

  function step(): StepResult {
    for (;;) {
      const next = fetched.pages[page]
      if (next === undefined && !fetched.isComplete) return 'wait'
      const last = rows.current
      if (next === undefined) {
        rows.current = undefined
        return 'end'
      }
      cursor ??= createRowCursor(next)
      if (isAtLong || advanceRow(cursor)) {
        isAtLong = isLongRow(cursor) && long === undefined
        if (isAtLong) return 'wait'
        rows.current = refTo(cursor, reader, long)
        long = undefined
        return last && sign * compareSortKeys(last.keys, rows.current.keys) > 0 ? 'unsorted' : 'row'
      }
      cursor = undefined
      page++
    }
  }

  async function prepare(): Promise<void> {
    if (isAtLong && cursor !== undefined) long = await readLong(input, cursor, reader)
    else await fetched.fetchNext()
  }
}

async function readLong(input: number, { rows, from, to }: RowCursor, reader: RowReader): Promise<LongRow> {
  try {
    return await reader.readLong(rows.bytes.subarray(from, to))
  } catch (error) {
    throw ofInput(input, error)
  }
}

/** `long`: what was read of the row, if it is a long one. */
function refTo({ rows: page, from, to, index }: RowCursor, reader: RowReader, long: LongRow | undefined): RowRef {
  if (long !== undefined) return { page, from, to, index, keys: reader.keysOf(long.element), long }
  return { page, from, to, index, keys: reader.readKeys(page.bytes, from, to) }
}

/** Reads a run of rows that `sortIntoRuns` has sorted. */
export function createRunRows(input: number, position: number, run: readonly RowRef[]): SortedRows {
  let at = 0
  const rows: SortedRows = { input, position, current: undefined, step, prepare: async () => undefined }
  return rows

  function step(): StepResult {
    rows.current = run[at++]
    return rows.current ? 'row' : 'end'
  }
}

/** Sorts all rows of an input in runs of 2000. Rows with equal keys keep their order within a run and across runs. */
export function* sortIntoRuns(
  { input, pages }: FetchedPages,
  reader: RowReader,
  sign: 1 | -1,
): CooperativeTask<RowRef[][]> {
  const runs: RowRef[][] = []
  let run: RowRef[] = []
  for (const page of pages) {
    const cursor = createRowCursor(page)
    while (readInput(input, () => advanceRow(cursor))) {
      const long = isLongRow(cursor) ? ((yield readLong(input, cursor, reader)) as LongRow) : undefined
      run.push(refTo(cursor, reader, long))
      if (run.length >= MAX_RUN_ROWS) {
        runs.push(run)
        run = []
      }
      if (isTurnOver()) yield PAUSE
    }
  }
  runs.push(run)
  for (const rows of runs) {
    rows.sort((a, b) => sign * compareSortKeys(a.keys, b.keys))
    if (isTurnOverNow()) yield PAUSE
  }
  return runs
}

/** A binary min-heap whose top may be changed in place. */
export class Heap<T> {
  readonly #isBefore: (a: T, b: T) => boolean
  readonly #elements: T[] = []

  constructor(isBefore: (a: T, b: T) => boolean) {
    this.#isBefore = isBefore
  }

  /** The least element. */
  get top(): T | undefined {
    return this.#elements[0]
  }

  push(element: T): void {
    const elements = this.#elements
    let at = elements.push(element) - 1
    while (at > 0) {
      const parent = (at - 1) >> 1
      const upper = elements[parent] as T
      if (!this.#isBefore(element, upper)) break
      elements[at] = upper
      at = parent
    }
    elements[at] = element
  }

  /** Restores the order after the top has changed. */
  sinkTop(): void {
    const elements = this.#elements
    if (elements.length < 2) return
    const top = elements[0] as T
    let at = 0
    for (let child = 1; child < elements.length; child = 2 * at + 1) {
      const right = child + 1
      if (right < elements.length && this.#isBefore(elements[right] as T, elements[child] as T)) child = right
      const least = elements[child] as T
      if (!this.#isBefore(least, top)) break
      elements[at] = least
      at = child
    }
    elements[at] = top
  }

  /** Removes the top. */
  pop(): void {
    const last = this.#elements.pop()
    if (last === undefined || this.#elements.length === 0) return
    this.#elements[0] = last
    this.sinkTop()
  }
}
