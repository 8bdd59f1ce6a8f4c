/** Snapshots of collections as the edge stores them. */
import type { SnapshotSource } from '../../src/cache/snapshots/derivation.ts'
import { type QueriedRows, readParts } from '../../src/cache/snapshots/queried-rows.ts'
import { ROW_SEPARATOR } from '../../src/core/row-lines.ts'

/** Returns the rows in parts of at most `rowsPerPart` rows. */
export function partsOf(rows: readonly unknown[], rowsPerPart = 500): Buffer[] {
  const parts: Buffer[] = []
  for (let at = 0; at < rows.length; at += rowsPerPart) {
    const texts = rows.slice(at, at + rowsPerPart).map((row) => JSON.stringify(row))
    parts.push(Buffer.from(`[${texts.join(ROW_SEPARATOR)}]`))
  }
  return parts
}

export function snapshotOf(
  rows: readonly unknown[],
  source: SnapshotSource,
  rowsPerPart?: number,
): Promise<QueriedRows> {
  return readParts(partsOf(rows, rowsPerPart), source)
}
