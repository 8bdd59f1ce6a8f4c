/** Reads all rows of a collection that is joined from the responses of many nodes or agents. */
import { errorNumberOf } from '../../core/envelope.ts'
import { waitForJsonTurn } from '../../core/json-turns.ts'
import type { EdgeRequest, Handler } from '../../core/request.ts'
import type { JsonResponse } from '../../core/response.ts'
import { membersOfLines } from '../../core/row-lines.ts'
import { BYTES_PER_PART, type CollectionRows, LONG_NUMBER, type SnapshotLimits, SnapshotRefusedError } from './build.ts'

export interface JoinedRows extends CollectionRows {
  /** Members of `data` beside the rows and their number: `failed_nodes`. */
  readonly others: Readonly<Record<string, unknown>>
  /** What the nodes contributed, and for how long it is fresh. */
  readonly joined: Omit<JsonResponse, 'body'>
}

const NEWLINE = 0x0a
const COMMA = 0x2c

/**
 * Calls the nodes for all rows at once. If nodes fail, their rows are missing and the response is `partial`, as any joined
 * response. Throws SnapshotRefusedError if there are too many rows, and what `next` throws.
 */
export async function readJoined(
  next: Handler,
  request: EdgeRequest,
  { maxRows, maxBytes }: SnapshotLimits,
): Promise<JoinedRows> {
  const response = await next({ ...request, query: { limit: String(maxRows) } })
  if (response.kind !== 'json' || response.status !== 200 || errorNumberOf(response) !== 0) {
    throw new SnapshotRefusedError('nodeError', 'all nodes answer with errors')
  }
  const { body, ...joined } = response
  const { totalItems, ...others } = membersOfLines(body)
  const total = Number(totalItems)
  if (total > maxRows) throw new SnapshotRefusedError('tooManyRows', `it has ${total} rows, more than ${maxRows}`)
  if (body.length > maxBytes) throw new SnapshotRefusedError('tooManyBytes', `it is longer than ${maxBytes} bytes`)
  const parts: Buffer[] = []
  let [bytes, rows] = [0, 0]
  for await (const text of partsOf(body)) {
    if (LONG_NUMBER.test(text)) throw new SnapshotRefusedError('longNumbers', 'it may have a number of 16 digits')
    rows += text.split('\n').length
    const part = Buffer.from(text)
    parts.push(part)
    bytes += part.length
  }
  if (rows !== total) throw new SnapshotRefusedError('nodeError', 'a node prints a row in several lines')
  return { totalItems: total, parts, bytes, others, joined }
}

/** Yields lists of lines, in turns of about a millisecond. */
async function* partsOf(body: Buffer): AsyncGenerator<string> {
  let at = body.indexOf(NEWLINE) + 1
  const end = body.lastIndexOf(NEWLINE)
  while (at < end) {
    const newline = body.indexOf(NEWLINE, Math.min(at + BYTES_PER_PART, end))
    const partEnd = body[newline - 1] === COMMA ? newline - 1 : newline
    await waitForJsonTurn(partEnd - at)
    yield `[${body.toString('utf8', at, partEnd)}]`
    at = newline + 1
  }
}
