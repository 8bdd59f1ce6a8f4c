/**
 * Iterates over the rows of a page in its bytes. Rows that are not JSON or do not fit together throw
 * UnreadableRowsError: missing or doubled commas between rows, trailing bytes, and fewer or more rows than expected.
 * Invalid UTF-8 passes here; the check of the response has rejected it before.
 */
import { CLOSE_LIST, COMMA, endOfValue, skipSpace } from '../core/json-scan.ts'
import type { RowRanges } from '../core/response.ts'
import { isEndOfRows, type PageRows } from './find-rows.ts'

export class UnreadableRowsError extends Error {
  readonly reason: string

  constructor(reason: string) {
    super(`Rows cannot be read: ${reason}`)
    this.name = 'UnreadableRowsError'
    this.reason = reason
  }
}

/** The position of the current row in its page. */
export interface RowCursor {
  readonly page: PageRows
  from: number
  /** Behind the row. */
  to: number
  /** Counts rows from 0; -1 in front of the first row. */
  index: number
  readonly knownRanges: Uint32Array | undefined
}

/** Scans the row at a position and returns its end, or -1 if it has none. `end`: its end, if it is already known. */
export type ScanRow = (bytes: Buffer, at: number, end?: number) => number

/** Start and end of each row of the pages that were counted, so that reading them again need not search for the ends. */
const rangesByPage = new WeakMap<PageRows, Uint32Array>()

export function createRowCursor(page: PageRows): RowCursor {
  return { page, from: page.from, to: page.from, index: -1, knownRanges: rangesByPage.get(page) }
}

/** Moves to the next row; returns false behind the last one. */
export function advanceRow(cursor: RowCursor, scan: ScanRow = endOfValue): boolean {
  if (cursor.knownRanges) return advanceInRanges(cursor, cursor.knownRanges, scan)
  const { bytes, to } = cursor.page
  let at = skipSpace(bytes, cursor.to)
  if (at >= to) return finish(cursor)
  if (cursor.index >= 0) {
    if (bytes[at] === CLOSE_LIST && isEndOfRows(cursor.page, at)) return finish(cursor)
    if (bytes[at] !== COMMA) throw new UnreadableRowsError('no comma between rows')
    at = skipSpace(bytes, at + 1)
  }
  const end = scan(bytes, at)
  if (end < 0 || end > to) throw new UnreadableRowsError(`row ${cursor.index + 1} has no end`)
  cursor.from = at
  cursor.to = end
  cursor.index++
  if (cursor.index === cursor.page.expectedCount) throw new UnreadableRowsError('more rows than totalItems allows')
  return true
}

/** A node that returns fewer rows than it reports would otherwise lose rows without an error. */
function finish({ page: { expectedCount = 0 }, index }: RowCursor): false {
  if (index + 1 < expectedCount) throw new UnreadableRowsError('fewer rows than totalItems requires')
  return false
}

function advanceInRanges(cursor: RowCursor, ranges: Uint32Array, scan: ScanRow): boolean {
  const next = cursor.index + 1
  const [from, to] = [ranges[next * 2], ranges[next * 2 + 1]]
  if (from === undefined || to === undefined) return false
  if (scan !== endOfValue && scan(cursor.page.bytes, from, to) < 0)
    throw new UnreadableRowsError(`row ${next} is malformed`)
  cursor.from = from
  cursor.to = to
  cursor.index = next
  return true
}

/** Iterates over the bytes of each row. */
export function* iterateRows(page: PageRows): Generator<Buffer> {
  const cursor = createRowCursor(page)
  while (advanceRow(cursor)) yield page.bytes.subarray(cursor.from, cursor.to)
}

/**
 * Counts the rows of a whole page and remembers the position of each. If `total` is enough, use that instead. `checked`:
 * the rows that were found when the response was checked; they are used if they are those of the page.
 */
export function countRows(page: PageRows, checked?: RowRanges): number {
  const isOfPage = checked?.from === page.from && checked.to === page.to && page.expectedCount === undefined
  const known = rangesByPage.get(page) ?? (isOfPage ? checked.ranges : undefined)
  if (known) {
    rangesByPage.set(page, known)
    return known.length / 2
  }
  const cursor = createRowCursor(page)
  const ranges: number[] = []
  while (advanceRow(cursor)) ranges.push(cursor.from, cursor.to)
  rangesByPage.set(page, Uint32Array.from(ranges))
  return cursor.index + 1
}
