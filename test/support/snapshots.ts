/** Snapshots of collections as the edge stores them. */

import { type QueriedRows, readParts } from '../../src/collections/queried-rows.ts'
import { BYTES_PER_PART } from '../../src/collections/row-parts.ts'
import type { Source } from '../../src/collections/sources.ts'

/** Returns the rows in parts as the edge cuts them, or in shorter ones. */
export function partsOf(rows: readonly unknown[], maxRows = Number.POSITIVE_INFINITY): Buffer[] {
  const parts: Buffer[] = []
  let texts: string[] = []
  let length = 0
  for (const [at, row] of rows.entries()) {
    const text = JSON.stringify(row)
    texts.push(text)
    length += text.length
    if (length < BYTES_PER_PART && texts.length < maxRows && at < rows.length - 1) continue
    parts.push(Buffer.from(`[${texts.join(',\n')}]`))
    texts = []
    length = 0
  }
  return parts
}

export function snapshotOf(rows: readonly unknown[], source: Source, maxRows?: number): Promise<QueriedRows> {
  return readParts(partsOf(rows, maxRows), source)
}
