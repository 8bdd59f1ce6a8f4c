/**
 * The rows of one response as a value, and iteration over them in its bytes. Rows that are not JSON or do not fit together
 * throw UnreadableRowsError: missing or doubled commas between rows, trailing bytes, and fewer or more rows than expected.
 * Invalid UTF-8 passes here; the check of the response has rejected it before.
 */

import { type Envelope, readEnvelope, readEnvelopeInTurns } from '../core/envelope.ts'
import type { ByteRange } from '../core/envelope-scan.ts'
import {
  backOverSpace,
  CLOSE,
  CLOSE_LIST,
  COLON,
  COMMA,
  endOfText,
  endOfValue,
  OPEN,
  OPEN_LIST,
  QUOTE,
  skipSpace,
  valueIn,
} from '../core/json-scan.ts'
import { concatInTurns, jsonInTurns } from '../core/long-values.ts'
import type { RowRanges } from '../core/response.ts'

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

async function joinRows(rows: readonly Buffer[]): Promise<Rows> {
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

/** Nodes write rows without spaces, and each row with its `agent_id`. */
const AGENT_ID_MEMBER = Buffer.from('"agent_id":"')

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
      ids.add(agentIdAt(row, at))
      ending = row.subarray(at)
    }
  } catch (error) {
    // The merge reports unreadable rows.
    if (!(error instanceof UnreadableRowsError)) throw error
  }
  return [...ids]
}

function agentIdAt(row: Buffer, at: number): string {
  const from = at + AGENT_ID_MEMBER.length
  return row.toString('latin1', from, row.indexOf(QUOTE, from))
}

const COMMA_BYTES = Buffer.from(',')

/** Returns the rows of some agents only. */
export function rowsOfAgents(page: Rows, ids: ReadonlySet<string>): Promise<Rows> {
  const found = [...iterateRows(page)].filter((row) => {
    const at = row.lastIndexOf(AGENT_ID_MEMBER)
    return at >= 0 && ids.has(agentIdAt(row, at))
  })
  return joinRows(found)
}

/** Compares in JavaScript: for so few bytes a native call would cost more. */
function endsWith(row: Buffer, ending: Buffer): boolean {
  const start = row.length - ending.length
  let at = ending.length - 1
  while (at >= 0 && row[start + at] === ending[at]) at--
  return at < 0
}

/** The rows of one response: JSON values with commas between them, in `bytes` from `from` up to `to`. */
export interface Rows {
  readonly bytes: Buffer
  readonly from: number
  readonly to: number
  /** The number of rows that the node has on all of its pages. */
  readonly total: number
  /** The number of rows that must be on this page; absent if it is not known. */
  readonly expectedCount?: number
  /** What was read of them so far, for all who have these rows. `ranges`: start and end of each row. */
  readonly known: { ranges?: Uint32Array; agentIds?: readonly string[] }
}

export type RowsResult = { readonly ok: true; readonly rows: Rows } | { readonly ok: false; readonly reason: string }

const USUAL_ENDING =
  /\][ \t\r\n]*(?:,[ \t\r\n]*"totalItems"[ \t\r\n]*:[ \t\r\n]*(0|[1-9][0-9]{0,14})[ \t\r\n]*)?\}[ \t\r\n]*\}[ \t\r\n]*$/
const MAX_ENDING_BYTES = 96
/** Checking single brackets is faster than a walk only while there are few of them. */
const MIN_BYTES_PER_BRACKET = 48
/**
 * Finds where the rows of a node's response are in its bytes, and how many rows the node has, without parsing the rows.
 *
 * The scan reads forward to the list of rows. If the body then ends as usual (`]}}` or `],"totalItems":N}}`) and no
 * bracket in between can be the end of the list, nothing else is read: one native search replaces a walk over all bytes.
 * Otherwise the whole body is checked again, as when it came. A truncated body has no end and is refused. The rows
 * themselves are checked when they are read.
 *
 * The shortcut assumes rows of one kind. Rows of several kinds, followed by members that look like the usual ending, are
 * detected when the rows are read to their end (`isEndOfRows`). The members of the envelope may be in any order.
 */
export function findRows(bytes: Buffer, checked?: RowRanges): RowsResult {
  return checked === undefined ? (findByEnding(bytes) ?? findByCheck(bytes)) : toRows(bytes, checked)
}

/** Returns undefined if the ending is unusual or ambiguous. */
function findByEnding(bytes: Buffer): RowsResult | undefined {
  const data = findMember(bytes, skipSpace(bytes, 0), 'data')
  if (data === undefined || !isZero(bytes, data.before.get('error'))) return undefined
  const items = findMember(bytes, data.at, 'items')
  if (items === undefined || bytes[items.at] !== OPEN_LIST) return undefined
  const endingFrom = Math.max(items.at, bytes.length - MAX_ENDING_BYTES)
  const ending = USUAL_ENDING.exec(bytes.toString('latin1', endingFrom))
  if (ending === null) return undefined
  const to = endingFrom + ending.index
  const total = ending[1] === undefined ? wholeNumberOf(bytes, items.before.get('totalItems')) : Number(ending[1])
  if (total === undefined || !isOnlyEnd(bytes, items.at + 1, to)) return undefined
  return { ok: true, rows: { bytes, from: items.at + 1, to, total, known: {} } }
}

/**
 * Whether no bracket before `to` can close the list. A list of objects ends with `}]` and a list of texts with `"]`; a
 * bracket after any other byte is inside a row.
 */
function isOnlyEnd(bytes: Buffer, from: number, to: number): boolean {
  const first = skipSpace(bytes, from)
  if (first === to) return true
  const lastOfRow = bytes[first] === OPEN ? CLOSE : bytes[first] === QUOTE ? QUOTE : undefined
  if (lastOfRow === undefined) return false
  let budget = (to - from) / MIN_BYTES_PER_BRACKET + 8
  for (let at = bytes.indexOf(CLOSE_LIST, from); at < to; at = bytes.indexOf(CLOSE_LIST, at + 1)) {
    if (bytes[backOverSpace(bytes, at)] === lastOfRow || --budget < 0) return false
  }
  return true
}

/** Whether the check of the whole body finds the same rows, ending at `at`, and the same total. */
function isEndOfRows({ bytes, from, total }: Rows, at: number): boolean {
  const found = findByCheck(bytes)
  return found.ok && found.rows.from === from && found.rows.to === at && found.rows.total === total
}

function findByCheck(bytes: Buffer): RowsResult {
  return ofEnvelope(bytes, readEnvelope(bytes))
}

function ofEnvelope(bytes: Buffer, envelope: Envelope): RowsResult {
  if (!envelope.ok) return refused(envelope.reason)
  return envelope.error === 0 ? toRows(bytes, envelope.rows) : refused('error is not 0')
}

/** Returns the rows that the check of a successful response has found. */
function toRows(bytes: Buffer, checked: RowRanges | undefined): RowsResult {
  if (checked?.total === undefined) return refused('no items with totalItems')
  const { from, to, total, ranges } = checked
  return { ok: true, rows: { bytes, from, to, total, known: { ranges } } }
}

function refused(reason: string): RowsResult {
  return { ok: false, reason }
}

/** Returns the members in front of the named one, and the position of its value. */
function findMember(
  bytes: Buffer,
  from: number,
  name: string,
): { readonly before: Map<string, ByteRange>; readonly at: number } | undefined {
  if (bytes[from] !== OPEN) return undefined
  const before = new Map<string, ByteRange>()
  let at = skipSpace(bytes, from + 1)
  for (;;) {
    const member = readName(bytes, at)
    if (member === undefined) return undefined
    if (member.name === name) return { before, at: member.valueAt }
    const end = endOfValue(bytes, member.valueAt)
    before.set(member.name, { from: member.valueAt, to: end })
    const comma = skipSpace(bytes, end)
    if (end < 0 || bytes[comma] !== COMMA) return undefined
    at = skipSpace(bytes, comma + 1)
  }
}

/** Returns the name of the member at `at`, and where its value begins. */
function readName(bytes: Buffer, at: number): { readonly name: string; readonly valueAt: number } | undefined {
  if (bytes[at] !== QUOTE) return undefined
  const end = endOfText(bytes, at)
  const name = end < 0 ? undefined : valueIn(bytes, at, end)?.value
  const colon = skipSpace(bytes, end)
  if (typeof name !== 'string' || bytes[colon] !== COLON) return undefined
  return { name, valueAt: skipSpace(bytes, colon + 1) }
}

function isZero(bytes: Buffer, range: ByteRange | undefined): boolean {
  return range !== undefined && valueIn(bytes, range.from, range.to)?.value === 0
}

function wholeNumberOf(bytes: Buffer, range: ByteRange | undefined): number | undefined {
  const value = range && valueIn(bytes, range.from, range.to)?.value
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined
}
