/**
 * Cuts pages to their limit. A node of releases 3.x reads the database of an agent 20 rows at a time and does not cut the
 * last 20, so that a page may have rows of the next one.
 */
import type { Handler } from '../core/request.ts'
import { type EdgeResponse, type EnvelopeResponse, nodeOriginOf } from '../core/response.ts'
import { DEFAULT_LIMIT } from '../query/request.ts'
import { advanceRow, createRowCursor, rowsOf } from '../rows/rows.ts'

const ROWS_PER_PART = 20

/** Returns a handler whose pages have at most as many rows as the request wants. */
export function cutPages(next: Handler): Handler {
  return async (request) => {
    const response = await next(request)
    const limit = Number(request.query.limit ?? DEFAULT_LIMIT)
    const isWhole =
      limit < ROWS_PER_PART || limit % ROWS_PER_PART === 0 || request.endpoint.response.data !== 'collection'
    return isWhole || response.kind === 'file' || response.errorNumber !== 0 ? response : cutPage(response, limit)
  }
}

function cutPage(response: EnvelopeResponse, limit: number): EdgeResponse {
  const found = rowsOf(response.body, nodeOriginOf(response.origin)?.rows)
  if (!found.ok) return response
  const cursor = createRowCursor(found.rows)
  while (cursor.index < limit - 1) if (!advanceRow(cursor)) return response
  const { body, origin } = response
  const cut = Buffer.concat([body.subarray(0, cursor.to), body.subarray(found.rows.to)])
  return { ...response, body: cut, origin: origin.kind === 'node' ? { ...origin, rows: undefined } : origin }
}
