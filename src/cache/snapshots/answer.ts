/** Computes the response of a request from the rows of a snapshot. */
import { compileProjection } from '../../query/select.ts'
import type { Source } from '../../query/sources.ts'
import type { Derivation } from './derivation.ts'
import type { QueriedRows } from './queried-rows.ts'

const ITEMS = Buffer.from('{"error":0,"data":{"items":[')

/**
 * Returns the body of the response. `others`: further members of `data`. Throws CollectionError if the node would refuse
 * the request.
 */
export async function answerFrom(
  { table, texts }: QueriedRows,
  { collection, source }: Derivation,
  others: object = {},
): Promise<Buffer> {
  const project = compileProjection(collection.select, source as Source)
  // The rows have the default order already, so a page without a sort is not sorted.
  const { rows, totalItems } = await table.page(collection)
  const end = Buffer.from(`],${JSON.stringify({ totalItems, ...others }).slice(1)}}`)
  if (collection.select === undefined && !table.hasHiddenValues) return ownBuffer([ITEMS, texts.join(rows), end])
  const items: unknown[] = []
  for (let at = 0; at < rows.length; at += ROWS_PER_TURN) {
    const some = await texts.parse(rows.slice(at, at + ROWS_PER_TURN), source)
    for (const element of some) items.push(project(element))
  }
  return ownBuffer([ITEMS, Buffer.from(JSON.stringify(items).slice(1, -1)), end])
}

/** The store copies views of a larger buffer, and the compressed forms of a body belong to its buffer. */
function ownBuffer(parts: readonly Buffer[]): Buffer {
  const buffer = Buffer.allocUnsafeSlow(parts.reduce((length, part) => length + part.length, 0))
  let at = 0
  for (const part of parts) at += part.copy(buffer, at)
  return buffer
}

/** Rows that are projected in one turn. */
const ROWS_PER_TURN = 64
