/** Computes the response of a request from the rows of a snapshot. */
import { collectInTurns } from '../../query/collect-in-turns.ts'
import { flattenRow } from '../../query/select.ts'
import type { Row } from '../../query/value.ts'
import { parseSnapshot } from './build.ts'
import type { Derivation, SnapshotSource } from './derivation.ts'

/** Rows that are parsed; the least recently used are dropped when their texts exceed this number of bytes together. */
const MAX_PARSED_BYTES = 32 * 1024 * 1024

/** The rows of snapshots in the form in which they are queried. Hits of the local tier have the same body. */
export class ParsedSnapshots {
  readonly #rows = new Map<Buffer, Promise<readonly Row[]>>()
  #bytes = 0

  rowsOf(body: Buffer, source: SnapshotSource): Promise<readonly Row[]> {
    const known = this.#rows.get(body)
    if (known !== undefined) this.#rows.delete(body)
    else this.#bytes += body.length
    const rows = known ?? parseRows(body, source)
    this.#rows.set(body, rows)
    for (const oldest of this.#rows.keys()) {
      if (this.#bytes <= MAX_PARSED_BYTES || oldest === body) break
      this.#rows.delete(oldest)
      this.#bytes -= oldest.length
    }
    return rows
  }
}

/** Inventories are queried by their flat columns. */
function parseRows(body: Buffer, source: SnapshotSource): Promise<readonly Row[]> {
  return parseSnapshot<Row>(body, source.engine === 'database' && source.nested ? flattenRow : (row) => row)
}

/** Returns the body of the response. Throws CollectionError if the node would refuse the request. */
export async function answerFrom(rows: readonly Row[], { collection, source }: Derivation): Promise<Buffer> {
  // The rows have the default order already, so a page without a sort is not sorted.
  const { defaultSort, ...unsorted } = source
  const page = await collectInTurns(
    rows,
    (row) => row,
    collection,
    collection.sort === undefined ? (unsorted as SnapshotSource) : source,
  )
  return Buffer.from(JSON.stringify({ error: 0, data: page }))
}
