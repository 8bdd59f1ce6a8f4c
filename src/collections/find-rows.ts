/** Finds where the rows of a response are in its bytes. */
import { type Envelope, readEnvelope } from '../core/envelope.ts'
import type { ByteRange } from '../core/envelope-members.ts'
import {
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
import type { RowRanges } from '../core/response.ts'

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
export function isEndOfRows({ bytes, from, total }: Rows, at: number): boolean {
  const found = findByCheck(bytes)
  return found.ok && found.rows.from === from && found.rows.to === at && found.rows.total === total
}

function findByCheck(bytes: Buffer): RowsResult {
  return ofEnvelope(bytes, readEnvelope(bytes))
}

export function ofEnvelope(bytes: Buffer, envelope: Envelope): RowsResult {
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

/** Returns the offset of the last byte before `at` that is not white space. */
function backOverSpace(bytes: Buffer, at: number): number {
  let place = at - 1
  for (;;) {
    const byte = bytes[place]
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return place
    place--
  }
}
