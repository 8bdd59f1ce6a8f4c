/** Computes the response of a request from the rows of a snapshot. */
import { waitForJsonTurn } from '../../core/json-turns.ts'
import { collectInTurns } from '../../query/collect-in-turns.ts'
import type { Element, Row } from '../../query/value.ts'
import type { Derivation, SnapshotSource } from './derivation.ts'

/** Rows that are printed in one turn. */
const ROWS_PER_TURN = 64

/**
 * Returns the body of the response. `bytesPerRow`: about the length of a row as text. Throws CollectionError if the node
 * would refuse the request.
 */
export async function answerFrom(
  rows: readonly Row[],
  { collection, source }: Derivation,
  bytesPerRow: number,
): Promise<Buffer> {
  // The rows have the default order already, so a page without a sort is not sorted.
  const { defaultSort, ...unsorted } = source
  const { items, totalItems } = await collectInTurns(
    rows,
    (row) => row,
    collection,
    collection.sort === undefined ? (unsorted as SnapshotSource) : source,
  )
  return Buffer.from(`{"error":0,"data":{"items":[${await print(items, bytesPerRow)}],"totalItems":${totalItems}}}`)
}

async function print(items: readonly Element[], bytesPerRow: number): Promise<string> {
  const texts: string[] = []
  for (let at = 0; at < items.length; at += ROWS_PER_TURN) {
    const some = items.slice(at, at + ROWS_PER_TURN)
    await waitForJsonTurn(Math.ceil(some.length * bytesPerRow))
    texts.push(JSON.stringify(some).slice(1, -1))
  }
  return texts.join(',')
}
