/** Parses a body of the newer layout in turns of the event loop, its rows some at a time. */
import { EnvelopeScan } from '../../../core/envelope-scan.ts'
import { COMMA, OPEN, OPEN_LIST } from '../../../core/json-scan.ts'
import { waitForJsonTurn } from '../../../core/turns.ts'
import { ownField } from '../../../core/values.ts'

/** Bytes that are scanned or parsed in one turn of the event loop. */
const BYTES_PER_PIECE = 64 * 1024
/** The cost of a scan, in proportion to parsing. */
const SCAN_COST = 1 / 3
/** More rows than any call can ask for. */
const MAX_ROWS = 100_000
/** Values of a piece that cannot be parsed in turns: the envelope without its rows, or one long row. */
const MAX_VALUES = 50_000

/** Returns the object, or the reason why the body is not readable. */
export async function parseInTurns(body: Buffer): Promise<object | string> {
  const scan = new EnvelopeScan(body, 'affected_items')
  for (let rest = body.length; ; rest -= BYTES_PER_PIECE) {
    await waitForJsonTurn(Math.min(rest, BYTES_PER_PIECE) * SCAN_COST)
    if (scan.advance(BYTES_PER_PIECE)) break
  }
  if (scan.outcome === 'invalid') return 'not JSON'
  if (scan.doubled !== undefined) return `the member ${scan.doubled} twice`
  const { rows } = scan
  if (rows !== undefined && rows.ranges.length > 2 * MAX_ROWS) return `more than ${MAX_ROWS} rows`
  const rest = rows === undefined ? body : Buffer.concat([body.subarray(0, rows.from), body.subarray(rows.to)])
  if (await isCostly(rest)) return 'too many values'
  await waitForJsonTurn(rest.length)
  const value: unknown = JSON.parse(rest.toString())
  if (typeof value !== 'object' || value === null) return 'not a JSON object'
  const items = ownField(ownField(value, 'data'), 'affected_items')
  if (rows === undefined || !Array.isArray(items)) return value
  return (await readRows(body, rows.ranges, items)) ? value : 'too many values in a row'
}

/** Adds the rows to `items`. Resolves to `false` if one of them is too costly to parse. */
async function readRows(body: Buffer, ranges: Uint32Array, items: unknown[]): Promise<boolean> {
  for (let first = 0; first < ranges.length; ) {
    const last = lastOfPiece(ranges, first)
    const piece = body.subarray(ranges[first], ranges[last + 1])
    if (await isCostly(piece)) return false
    await waitForJsonTurn(piece.length)
    for (const row of JSON.parse(`[${piece.toString()}]`)) items.push(row)
    first = last + 2
  }
  return true
}

/** Returns the place in `ranges` of the last row that belongs to the piece which begins with the row at `first`. */
function lastOfPiece(ranges: Uint32Array, first: number): number {
  const end = (ranges[first] ?? 0) + BYTES_PER_PIECE
  let last = first
  while (last + 2 < ranges.length && (ranges[last + 3] ?? 0) <= end) last += 2
  return last
}

/** Whether parsing takes much longer than the length shows. Brackets and commas in texts count too. */
async function isCostly(bytes: Buffer): Promise<boolean> {
  if (bytes.length <= BYTES_PER_PIECE) return false
  let values = 0
  for (let from = 0; from < bytes.length && values <= MAX_VALUES; from += BYTES_PER_PIECE) {
    const piece = bytes.subarray(from, from + BYTES_PER_PIECE)
    await waitForJsonTurn(piece.length * SCAN_COST)
    for (let at = 0; at < piece.length; at++) {
      const byte = piece[at]
      if (byte === COMMA || byte === OPEN || byte === OPEN_LIST) values += 1
    }
  }
  return values > MAX_VALUES
}
