/** The rows of one response as a value, and iteration over them in its bytes. */

import { readEnvelopeInTurns } from '../core/envelope.ts'
import type { ByteRange } from '../core/envelope-members.ts'
import { concatInTurns, jsonInTurns } from '../core/long-values.ts'
import type { RowRanges } from '../core/response.ts'

/** JSON values with commas between them, in `bytes` from `from` up to `to`, as the check of the whole response has found them. */
export interface Rows extends RowRanges {
  readonly bytes: Buffer
  /** The number of rows that the node has on all of its pages. */
  readonly total: number
  /** The number of rows that must be on this page; absent if it is not known. */
  readonly expectedCount?: number
  /** What was read of them so far, for all who have these rows. */
  readonly known: { agentIds?: readonly string[] }
}

type RowsResult = { readonly ok: true; readonly rows: Rows } | { readonly ok: false; readonly reason: string }

/** There are fewer or more rows than expected, or one of the wrong type. */
export class UnreadableRowsError extends Error {
  readonly reason: string

  constructor(reason: string) {
    super(`Rows cannot be read: ${reason}`)
    this.name = 'UnreadableRowsError'
    this.reason = reason
  }
}

/** A longer row is not scanned at once. */
const LONG_BYTES = 256 * 1024

export function isLongRow({ from, to }: ByteRange): boolean {
  return to - from > LONG_BYTES
}

/** A cached response is the same buffer for each request, so its rows are found once. */
const rowsByBody = new WeakMap<Buffer, RowsResult>()

/** Returns the rows of a successful response. `checked`: those that were found when the response was checked. */
export async function rowsOf(body: Buffer, checked?: RowRanges): Promise<RowsResult> {
  const known = rowsByBody.get(body)
  if (known !== undefined) return known
  const found = checked === undefined ? await findRows(body) : toRows(body, checked)
  rowsByBody.set(body, found)
  return found
}

/** Checks the body again, as when it came. */
async function findRows(body: Buffer): Promise<RowsResult> {
  const envelope = await readEnvelopeInTurns(body)
  if (!envelope.ok) return { ok: false, reason: envelope.reason }
  return envelope.error === 0 ? toRows(body, envelope.rows) : { ok: false, reason: 'error is not 0' }
}

function toRows(bytes: Buffer, checked: RowRanges | undefined): RowsResult {
  if (checked?.total === undefined) return { ok: false, reason: 'no items with totalItems' }
  return { ok: true, rows: { ...checked, total: checked.total, bytes, known: {} } }
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
    at += length + COMMA.length
  }
  const bytes = await concatInTurns(rows.flatMap((row) => [row, COMMA]))
  return { bytes, from: 0, to: bytes.length, total: rows.length, ranges, known: {} }
}

const COMMA = Buffer.from(',')

/** Returns the place of a row; `undefined` behind the last one. */
export function rangeOf({ ranges, expectedCount }: Rows, index: number): ByteRange | undefined {
  const from = ranges[index * 2]
  // A node that returns fewer rows than it reports would otherwise lose rows without an error.
  if (from === undefined) {
    if (index < (expectedCount ?? 0)) throw new UnreadableRowsError('fewer rows than totalItems requires')
    return undefined
  }
  if (index === expectedCount) throw new UnreadableRowsError('more rows than totalItems allows')
  return { from, to: ranges[index * 2 + 1] ?? from }
}

export function* iterateRows({ bytes, ranges }: Rows): Generator<Buffer> {
  for (let at = 0; at < ranges.length; at += 2) yield bytes.subarray(ranges[at], ranges[at + 1])
}
