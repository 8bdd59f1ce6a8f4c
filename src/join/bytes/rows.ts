/**
 * The rows of a part, one after the other, when they are asked for. A body whose rows are garbled is found out here
 * and thrown as UnreadableRows: brackets that do not fit, texts without an end, missing or doubled commas between
 * rows, more or less behind the last row than the part says, more or fewer rows. What stands *inside* a row passes
 * unread, as long as its brackets and quotes fit: wrong literals, escapes and numbers, missing colons, control
 * characters, broken UTF-8.
 */

import { CLOSE_LIST, COMMA, endOfCheckedValue, skipSpace } from '../../core/json-scan.ts'
import { isEnd, type RowsPart } from './envelope-rows.ts'

export class UnreadableRows extends Error {
  readonly reason: string

  constructor(reason: string) {
    super(`Rows cannot be read: ${reason}`)
    this.name = 'UnreadableRows'
    this.reason = reason
  }
}

/** Where one row of a part stands; moved from row to row. */
export interface Cursor {
  readonly part: RowsPart
  from: number
  /** Behind the row. */
  to: number
  /** The how manyth row of its part this is, from 0; -1 before the first. */
  index: number
  readonly borders: Uint32Array | undefined
}

/** Reads the row at a place and answers where it ends, or -1; `end`: where it ends, if that is known. */
export type ReadRow = (bytes: Buffer, at: number, end?: number) => number

/** From and to of each row of parts that were walked over: who reads them again need not look for their ends. */
const known = new WeakMap<RowsPart, Uint32Array>()

export function createCursor(part: RowsPart): Cursor {
  return { part, from: part.from, to: part.from, index: -1, borders: known.get(part) }
}

/** Moves to the next row; false behind the last one. */
export function advance(cursor: Cursor, read: ReadRow = endOfCheckedValue): boolean {
  if (cursor.borders) return advanceTo(cursor, cursor.borders, read)
  const { bytes, to } = cursor.part
  let at = skipSpace(bytes, cursor.to)
  if (at >= to) return ended(cursor)
  if (cursor.index >= 0) {
    if (bytes[at] === CLOSE_LIST && isEnd(cursor.part, at)) return ended(cursor)
    if (bytes[at] !== COMMA) throw new UnreadableRows('no comma between rows')
    at = skipSpace(bytes, at + 1)
  }
  const end = read(bytes, at)
  if (end < 0 || end > to) throw new UnreadableRows(`row ${cursor.index + 1} has no end`)
  cursor.from = at
  cursor.to = end
  cursor.index++
  if (cursor.index === cursor.part.count) throw new UnreadableRows('more rows than it says')
  return true
}

/** Rows that a node promises and does not give would be missed by nobody. */
function ended({ part: { count = 0 }, index }: Cursor): false {
  if (index + 1 < count) throw new UnreadableRows('fewer rows than it says')
  return false
}

function advanceTo(cursor: Cursor, borders: Uint32Array, read: ReadRow): boolean {
  const next = cursor.index + 1
  const [from, to] = [borders[next * 2], borders[next * 2 + 1]]
  if (from === undefined || to === undefined) return false
  if (read !== endOfCheckedValue && read(cursor.part.bytes, from, to) < 0)
    throw new UnreadableRows(`row ${next} is garbled`)
  cursor.from = from
  cursor.to = to
  cursor.index = next
  return true
}

/** Each row's own bytes, from the `skip`th on. */
export function* rowsOf(part: RowsPart, skip = 0): Generator<Buffer> {
  const cursor = createCursor(part)
  while (advance(cursor)) {
    if (cursor.index >= skip) yield part.bytes.subarray(cursor.from, cursor.to)
  }
}

/** Walks over the whole part, and remembers where its rows stand: where `total` says the same, take that. */
export function countRows(part: RowsPart): number {
  const seen = known.get(part)
  if (seen) return seen.length / 2
  const cursor = createCursor(part)
  const borders: number[] = []
  while (advance(cursor)) borders.push(cursor.from, cursor.to)
  known.set(part, Uint32Array.from(borders))
  return cursor.index + 1
}
