/**
 * The rows of each input of a merge, one after the other: as its node has sorted them, from page to page, or sorted by the
 * edge.
 */

import { parseInTurns } from '../core/json-parse.ts'
import { selectFirst } from '../core/long-lists.ts'
import { type CooperativeTask, isTurnOver, PAUSE } from '../core/turns.ts'
import { isLongRow, type Rows, rangeOf, UnreadableRowsError } from './rows.ts'
import { compareSortKeys, parseRow, type SortKeyReader, type SortKeys } from './sort-keys.ts'
import type { Source } from './sources.ts'
import type { Element } from './value.ts'

/** Sorting more rows at once would block the event loop. */
const MAX_SORTED_AT_ONCE = 2000

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

/** Turns unreadable rows into an error of the input. */
export function ofInput(input: number, error: unknown): unknown {
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

/** Rows, and what must be awaited before the next one. The result of a promise is passed to `next`. */
export type RowStream = Iterator<RowRef | Promise<unknown>, undefined, unknown>

export interface InputPages {
  /** The first page. */
  readonly rows: Rows
  /** Fetches a further page, from 0; called when the rows so far are used up, until it resolves to undefined. */
  readonly fetchMore?: (at: number) => Promise<Rows | undefined>
}

/**
 * Returns the first row of the inputs, in a list. An array source without a list of sortable fields takes the fields of that
 * row. The list is empty if there is no row, or if the source needs none. Throws an `InputError` if the row is unreadable.
 */
export function* firstRow(inputs: readonly InputPages[], source: Source): CooperativeTask<Element[]> {
  if (source.engine === 'database' || source.sortable !== undefined) return []
  for (const [input, { rows }] of inputs.entries()) {
    try {
      const range = rangeOf(rows, 0)
      if (range === undefined) continue
      const { from, to } = range
      const row = isLongRow(range) ? yield parseInTurns(rows.bytes.subarray(from, to)) : parseRow(rows.bytes, from, to)
      return [row as Element]
    } catch (error) {
      throw ofInput(input, error)
    }
  }
  return []
}

/** The pages of an input that were fetched; a merge that starts again need not fetch them twice. */
export interface FetchedPages {
  readonly input: number
  readonly pages: Rows[]
  /** No further page is fetched: there is none, or the merge needs none. */
  isComplete: boolean
  /** Fetches one more page; resolves to false if there is none. */
  fetchNext(): Promise<boolean>
}

export function createFetchedPages({ rows, fetchMore }: InputPages, input: number): FetchedPages {
  const fetched: FetchedPages = { input, pages: [rows], isComplete: fetchMore === undefined, fetchNext }
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

/** Reads all rows of an input in their order. Fetches a page when the rows before it are used up. */
export function* readRows(fetched: FetchedPages, reader: RowReader): RowStream {
  const { input, pages } = fetched
  try {
    for (let at = 0; ; at++) {
      if (at === pages.length && !fetched.isComplete) yield fetched.fetchNext()
      const page = pages[at]
      if (page === undefined) return
      let index = 0
      for (let row = rangeOf(page, 0); row !== undefined; row = rangeOf(page, ++index)) {
        const { from, to } = row
        if (isLongRow(row)) {
          const long = (yield readLong(input, page.bytes.subarray(from, to), reader)) as LongRow
          yield { page, from, to, index, keys: reader.keysOf(long.element), long }
        } else yield { page, from, to, index, keys: reader.readKeys(page.bytes, from, to) }
      }
    }
  } catch (error) {
    throw ofInput(input, error)
  }
}

async function readLong(input: number, row: Buffer, reader: RowReader): Promise<LongRow> {
  try {
    return await reader.readLong(row)
  } catch (error) {
    throw ofInput(input, error)
  }
}

/** Reads all rows and sorts them; returns the first `count`. Rows with equal keys keep their order. */
export function* sortRows(rows: RowStream, sign: 1 | -1, count: number): CooperativeTask<RowStream> {
  const all: RowRef[] = []
  for (let next = rows.next().value; next !== undefined; ) {
    if (next instanceof Promise) {
      next = rows.next(yield next).value
      continue
    }
    all.push(next)
    if (isTurnOver()) yield PAUSE
    next = rows.next().value
  }
  const compare = (a: RowRef, b: RowRef) => sign * compareSortKeys(a.keys, b.keys)
  if (all.length <= MAX_SORTED_AT_ONCE) return all.sort(compare).values()
  const sorted = yield selectFirst(all, (row) => row, compare, count)
  return (sorted as { readonly first: readonly RowRef[] }).first.values()
}
