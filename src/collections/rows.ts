/**
 * The rows of one response as a value, and iteration over them in its bytes. Rows that are not JSON or do not fit together
 * throw UnreadableRowsError: missing or doubled commas between rows, trailing bytes, and fewer or more rows than expected.
 * Invalid UTF-8 passes here; the check of the response has rejected it before.
 */

import { readEnvelopeInTurns } from '../core/envelope.ts'
import type { ByteRange } from '../core/envelope-members.ts'
import { CLOSE_LIST, COMMA, endOfValue, skipSpace } from '../core/json-scan.ts'
import { concatInTurns, jsonInTurns } from '../core/long-values.ts'
import type { RowRanges } from '../core/response.ts'
import { findRows, isEndOfRows, ofEnvelope, type Rows, type RowsResult } from './find-rows.ts'

export class UnreadableRowsError extends Error {
  readonly reason: string

  constructor(reason: string) {
    super(`Rows cannot be read: ${reason}`)
    this.name = 'UnreadableRowsError'
    this.reason = reason
  }
}

/** A cached response is the same buffer for each request, so its rows are found once. */
const rowsByBody = new WeakMap<Buffer, RowsResult>()

/**
 * A longer body is walked over in turns of the event loop, and each of its rows is found. A longer row is not scanned at once,
 * and its end is always known.
 */
const LONG_BYTES = 256 * 1024

export function isLongRow({ from, to }: ByteRange): boolean {
  return to - from > LONG_BYTES
}

/** Returns the rows of a successful response. `checked`: those that were found when the response was checked. */
export async function rowsOf(body: Buffer, checked?: RowRanges): Promise<RowsResult> {
  const known = rowsByBody.get(body)
  if (known !== undefined) return known
  const isLong = checked === undefined && body.length > LONG_BYTES
  const found = isLong ? ofEnvelope(body, await readEnvelopeInTurns(body)) : findRows(body, checked)
  rowsByBody.set(body, found)
  return found
}

/** Prints parsed rows as the rows of a response, in turns of the event loop. */
export async function printRows(items: readonly object[]): Promise<Rows> {
  const rows: Buffer[] = []
  for (const item of items) rows.push(await jsonInTurns(item))
  return joinRows(rows)
}

export async function joinRows(rows: readonly Buffer[]): Promise<Rows> {
  const ranges = new Uint32Array(rows.length * 2)
  let at = 0
  for (const [row, { length }] of rows.entries()) {
    ranges.set([at, at + length], row * 2)
    at += length + COMMA_BYTES.length
  }
  const bytes = await concatInTurns(rows.flatMap((row) => [row, COMMA_BYTES]))
  return { bytes, from: 0, to: bytes.length, total: rows.length, known: { ranges } }
}

export interface RowCursor {
  readonly rows: Rows
  from: number
  /** Behind the row. */
  to: number
  /** Counts rows from 0; -1 in front of the first row. */
  index: number
}

/** Scans the row at a position, unless it is a long one, and returns its end, or -1 if it has none. `end`: its end, if it is already known. */
export type ScanRow = (bytes: Buffer, at: number, end?: number) => number

export function createRowCursor(rows: Rows): RowCursor {
  return { rows, from: rows.from, to: rows.from, index: -1 }
}

/** Moves to the next row; returns false behind the last one. */
export function advanceRow(cursor: RowCursor, scan: ScanRow = endOfValue): boolean {
  const { bytes, to, known, expectedCount } = cursor.rows
  const next = cursor.index + 1
  const from = known.ranges === undefined ? startOfNext(cursor) : known.ranges[next * 2]
  // A node that returns fewer rows than it reports would otherwise lose rows without an error.
  if (from === undefined) {
    if (next < (expectedCount ?? 0)) throw new UnreadableRowsError('fewer rows than totalItems requires')
    return false
  }
  const knownEnd = known.ranges?.[next * 2 + 1]
  // Only the end of the row is wanted, or the row is parsed in turns.
  const isKnown = knownEnd !== undefined && (scan === endOfValue || isLongRow({ from, to: knownEnd }))
  const end = isKnown ? knownEnd : scan(bytes, from, knownEnd)
  if (end < 0 || end > to) throw new UnreadableRowsError(`row ${next} has no end`)
  if (next === expectedCount) throw new UnreadableRowsError('more rows than totalItems allows')
  cursor.from = from
  cursor.to = knownEnd ?? end
  cursor.index = next
  return true
}

function startOfNext({ rows, to: behind, index }: RowCursor): number | undefined {
  const { bytes, to } = rows
  const at = skipSpace(bytes, behind)
  if (at >= to) return undefined
  if (index < 0) return at
  if (bytes[at] === CLOSE_LIST && isEndOfRows(rows, at)) return undefined
  if (bytes[at] !== COMMA) throw new UnreadableRowsError('no comma between rows')
  return skipSpace(bytes, at + 1)
}

export function* iterateRows(rows: Rows): Generator<Buffer> {
  const cursor = createRowCursor(rows)
  while (advanceRow(cursor)) yield rows.bytes.subarray(cursor.from, cursor.to)
}

/** Counts the rows of a page, and remembers the position of each. If `total` is enough, use that instead. */
export function countRows(rows: Rows): number {
  if (rows.known.ranges === undefined) {
    const cursor = createRowCursor(rows)
    const ranges: number[] = []
    while (advanceRow(cursor)) ranges.push(cursor.from, cursor.to)
    rows.known.ranges = Uint32Array.from(ranges)
  }
  return rows.known.ranges.length / 2
}

const COMMA_BYTES = Buffer.from(',')
