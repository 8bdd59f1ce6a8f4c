/** Computes the response of a request from the rows of a snapshot. */
import { compileProjection } from '../../query/select.ts'
import type { Source } from '../../query/sources.ts'
import { createCollectionBody } from '../../rows/page-writer.ts'
import type { QueriedRows } from '../../rows/queried-rows.ts'
import type { Derivation } from './derivation.ts'

/**
 * Returns the body of the response. `others`: further members of `data`. Throws CollectionError if the node would refuse
 * the request.
 */
export async function answerFrom(
  { table, texts }: QueriedRows,
  { collection, source }: Derivation,
  others: Readonly<Record<string, unknown>> = {},
): Promise<Buffer> {
  const project = compileProjection(collection.select, source as Source)
  // The rows have the default order already, so a page without a sort is not sorted.
  const { rows, totalItems } = await table.page(collection)
  if (collection.select === undefined && !table.hasHiddenValues)
    return createCollectionBody({ chunks: [texts.join(rows)], total: totalItems }, others)
  const items: unknown[] = []
  for (let at = 0; at < rows.length; at += ROWS_PER_TURN) {
    const some = await texts.parse(rows.slice(at, at + ROWS_PER_TURN), source)
    for (const element of some) items.push(project(element))
  }
  const chunks = [Buffer.from(JSON.stringify(items).slice(1, -1))]
  return createCollectionBody({ chunks, total: totalItems }, others)
}

/** Rows that are projected in one turn. */
const ROWS_PER_TURN = 64
