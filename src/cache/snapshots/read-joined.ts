/** Reads all rows of a collection that is joined from the responses of many nodes or agents. */
import { parseBody } from '../../core/envelope.ts'
import type { EdgeRead, Handler } from '../../core/request.ts'
import { type MadeOfParts, partsOf } from '../../core/response.ts'
import { waitForJsonTurn } from '../../core/turns.ts'
import { type CollectionRows, LONG_NUMBER, type SnapshotLimits, SnapshotRefusedError } from './build.ts'

export interface JoinedRows extends CollectionRows {
  /** Members of `data` beside the rows and their number: `failed_nodes`. */
  readonly others: Readonly<Record<string, unknown>>
  /** What the nodes contributed, and for how long it is fresh. */
  readonly joined: MadeOfParts
}

/**
 * Calls the nodes for all rows at once. If nodes fail, their rows are missing and the response is `partial`, as any joined
 * response. Throws SnapshotRefusedError if there are too many rows, and what `next` throws.
 */
export async function readJoined(
  next: Handler<EdgeRead>,
  request: EdgeRead,
  { maxRows, maxBytes }: SnapshotLimits,
): Promise<JoinedRows> {
  const response = await next({ ...request, query: { limit: String(maxRows) } })
  if (response.kind === 'file' || response.status !== 200 || response.errorNumber !== 0) {
    throw new SnapshotRefusedError('nodeError', 'all nodes answer with errors')
  }
  const { body, origin } = response
  const parts = origin.kind === 'allRows' ? origin.rowParts : []
  const { items, totalItems, ...others } = parseBody(body).data as JoinedData
  if (totalItems > maxRows) throw new SnapshotRefusedError('tooManyRows', `more than ${maxRows} rows`)
  const bytes = parts.reduce((sum, part) => sum + part.length, 0)
  if (bytes > maxBytes) throw new SnapshotRefusedError('tooManyBytes', `it is longer than ${maxBytes} bytes`)
  let rows = 0
  for (const part of parts) {
    await waitForJsonTurn(part.length)
    const text = part.toString()
    if (LONG_NUMBER.test(text)) throw new SnapshotRefusedError('longNumbers', 'it may have a number of 16 digits')
    rows += text.split('\n').length
  }
  if (rows !== totalItems) throw new SnapshotRefusedError('nodeError', 'a node prints a row in several lines')
  return { totalItems, parts, bytes, others, joined: partsOf(origin) }
}

interface JoinedData extends Readonly<Record<string, unknown>> {
  readonly totalItems: number
}
