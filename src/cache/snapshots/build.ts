/** Reads all rows of a collection into one response, in which each row is one line. */
import { errorNumberOf, parseEnvelope } from '../../core/envelope.ts'
import { waitForJsonTurn } from '../../core/json-turns.ts'
import type { EdgeRequest, Handler } from '../../core/request.ts'
import type { JsonResponse } from '../../core/response.ts'

export interface SnapshotLimits {
  readonly maxRows: number
  readonly maxBytes: number
}

/** The rows cannot be read completely, or there are too many. Requests are answered by the nodes. */
export class SnapshotRefusedError extends Error {
  constructor(reason: string) {
    super(`no snapshot of the collection: ${reason}`)
    this.name = 'SnapshotRefusedError'
  }
}

/** The maximum number of rows that a node returns at once. */
export const ROWS_PER_CALL = 1000
const NEWLINE = 0x0a
const COMMA = 0x2c
/** Parsing such a part takes about a millisecond. */
const BYTES_PER_PART = 64 * 1024
/** JavaScript cannot represent larger numbers exactly. */
const MAX_DIGITS = /[:[,]-?\d{16}/

/**
 * Calls the nodes for one page after the other. Throws SnapshotRefusedError unless all pages have the same total, the
 * expected number of rows, and no row twice; and what `next` throws.
 */
export async function buildSnapshot(
  next: Handler,
  { snapshot, arrivedWithin, ...request }: EdgeRequest,
  { maxRows, maxBytes }: SnapshotLimits,
): Promise<JsonResponse> {
  const lines: string[] = []
  const seen = new Set<string>()
  let [total, length] = [0, 0]
  do {
    const query = { limit: String(ROWS_PER_CALL), ...(lines.length > 0 && { offset: String(lines.length) }) }
    const page = await readPage(next, { ...request, query })
    if (lines.length === 0) total = page.totalItems
    if (total > maxRows) throw new SnapshotRefusedError(`it has ${total} rows, more than ${maxRows}`)
    if (page.totalItems !== total) throw new SnapshotRefusedError('its total changed between two pages')
    if (page.items.length !== Math.min(ROWS_PER_CALL, total - lines.length)) {
      throw new SnapshotRefusedError('a page has another number of rows than its total demands')
    }
    for (const item of page.items) {
      const line = JSON.stringify(item)
      if (total > ROWS_PER_CALL && seen.has(line)) throw new SnapshotRefusedError('two of its rows are equal')
      seen.add(line)
      lines.push(line)
      length += line.length
    }
    if (length > maxBytes) throw new SnapshotRefusedError(`it is longer than ${maxBytes} bytes`)
  } while (lines.length < total)
  const body = Buffer.from(`{"error":0,"data":{"totalItems":${total},"items":[\n${lines.join(',\n')}\n]}}`)
  return { kind: 'json', status: 200, body, errorNumber: 0 }
}

interface Page {
  readonly items: readonly object[]
  readonly totalItems: number
}

async function readPage(next: Handler, request: EdgeRequest): Promise<Page> {
  const response = await next(request)
  if (response.kind !== 'json' || response.status !== 200 || errorNumberOf(response) !== 0 || response.partial) {
    throw new SnapshotRefusedError('a node answers with an error')
  }
  await waitForJsonTurn(response.body.length)
  if (MAX_DIGITS.test(response.body.toString())) throw new SnapshotRefusedError('it may have a number of 16 digits')
  const { items, totalItems } = (parseEnvelope(response).data ?? {}) as { items?: unknown; totalItems?: unknown }
  if (!Array.isArray(items) || !Number.isSafeInteger(totalItems)) throw new SnapshotRefusedError('it is no collection')
  if (!items.every((item) => typeof item === 'object' && item !== null)) {
    throw new SnapshotRefusedError('its elements are no objects')
  }
  return { items, totalItems: totalItems as number }
}

/** Returns the rows of a snapshot. Parses it in turns of about a millisecond. */
export async function parseSnapshot<Row>(body: Buffer, toRow: (parsed: Row) => Row): Promise<readonly Row[]> {
  const rows: Row[] = []
  let at = body.indexOf(NEWLINE) + 1
  const end = body.lastIndexOf(NEWLINE)
  while (at < end) {
    const newline = body.indexOf(NEWLINE, Math.min(at + BYTES_PER_PART, end))
    const partEnd = body[newline - 1] === COMMA ? newline - 1 : newline
    await waitForJsonTurn(partEnd - at)
    for (const row of JSON.parse(`[${body.toString('utf8', at, partEnd)}]`) as Row[]) rows.push(toRow(row))
    at = newline + 1
  }
  return rows
}

/** Returns the total in the text of a collection, near its beginning or its end; `undefined`: it is not there. */
export function totalOf(body: Buffer): number | undefined {
  const ends = [body.toString('latin1', 0, 64), body.toString('latin1', Math.max(0, body.length - 64))]
  const [total] = ends.flatMap((text) => /"totalItems": ?(\d+)[,}]/.exec(text)?.[1] ?? [])
  return total === undefined ? undefined : Number(total)
}
