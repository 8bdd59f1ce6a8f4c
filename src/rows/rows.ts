/**
 * The rows of one response as a value, and iteration over them in its bytes. Rows that are not JSON or do not fit together
 * throw UnreadableRowsError: missing or doubled commas between rows, trailing bytes, and fewer or more rows than expected.
 * Invalid UTF-8 passes here; the check of the response has rejected it before.
 */
import { CLOSE_LIST, COMMA, endOfValue, skipSpace } from '../core/json-scan.ts'
import type { RowRanges } from '../core/response.ts'
import { findRows, isEndOfRows, type Rows, type RowsResult, toRows } from './find-rows.ts'

export type { Rows, RowsResult } from './find-rows.ts'

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

/** Returns the rows of a successful response. `checked`: those that were found when the response was checked. */
export function rowsOf(body: Buffer, checked?: RowRanges): RowsResult {
  const known = rowsByBody.get(body)
  if (known !== undefined) return known
  const found = checked === undefined ? findRows(body) : toRows(body, checked)
  rowsByBody.set(body, found)
  return found
}

/** Returns parsed rows as the rows of a response. */
export function printRows(items: readonly object[]): Rows {
  const bytes = Buffer.from(JSON.stringify(items))
  return { bytes, from: 1, to: bytes.length - 1, total: items.length, known: {} }
}

/** The position of the current row. */
export interface RowCursor {
  readonly rows: Rows
  from: number
  /** Behind the row. */
  to: number
  /** Counts rows from 0; -1 in front of the first row. */
  index: number
}

/** Scans the row at a position and returns its end, or -1 if it has none. `end`: its end, if it is already known. */
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
  // Only the end of the row is wanted.
  const end = knownEnd !== undefined && scan === endOfValue ? knownEnd : scan(bytes, from, knownEnd)
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

/** Iterates over the bytes of each row. */
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

/** Nodes write rows without spaces, and each row with its `agent_id`. */
const AGENT_ID_MEMBER = Buffer.from('"agent_id":"')
const QUOTE = 0x22

/** Returns the agents of rows that are not parsed, in their order, each once. */
export function agentIdsOf(rows: Rows): readonly string[] {
  rows.known.agentIds ??= findAgentIds(rows)
  return rows.known.agentIds
}

function findAgentIds(page: Rows): readonly string[] {
  const ids = new Set<string>()
  let ending: Buffer | undefined
  try {
    for (const row of iterateRows(page)) {
      // Rows of one agent follow each other and end with its id, so most of them need no search.
      if (ending !== undefined && endsWith(row, ending)) continue
      const at = row.lastIndexOf(AGENT_ID_MEMBER)
      if (at < 0) continue
      const from = at + AGENT_ID_MEMBER.length
      ids.add(row.toString('latin1', from, row.indexOf(QUOTE, from)))
      ending = row.subarray(at)
    }
  } catch (error) {
    // The merge reports unreadable rows.
    if (!(error instanceof UnreadableRowsError)) throw error
  }
  return [...ids]
}

/** Compares in JavaScript: for so few bytes a native call would cost more. */
function endsWith(row: Buffer, ending: Buffer): boolean {
  const start = row.length - ending.length
  let at = ending.length - 1
  while (at >= 0 && row[start + at] === ending[at]) at--
  return at < 0
}
