/** Which rows of a table a page has, by their places in the table. */
import type { Column } from './columns.ts'
import type { PageWindow } from './request.ts'

/** The rows of a table that a filter finds, in the order of a sort. */
interface FoundRows {
  /** Of the table. */
  readonly length: number
  /** Undefined: their natural order. */
  readonly order: Uint32Array | undefined
  /** Undefined: all rows match. */
  readonly isMatch: Uint8Array | undefined
}

export function placesOf({ length, order, isMatch }: FoundRows, { offset, limit }: PageWindow): number[] {
  const rows: number[] = []
  if (isMatch === undefined) {
    for (let at = offset; at < Math.min(length, offset + limit); at += 1) rows.push(order?.[at] ?? at)
    return rows
  }
  let skip = offset
  for (let at = 0; at < length && rows.length < limit; at += 1) {
    const row = order === undefined ? at : (order[at] ?? 0)
    if (isMatch[row] === 0) continue
    if (skip > 0) skip -= 1
    else rows.push(row)
  }
  return rows
}

export function allPlaces(found: FoundRows): number[] {
  return placesOf(found, { offset: 0, limit: found.length })
}

/** Returns the first of the rows with each value of a column. Rows without a value, or with an empty one, are left out. */
export function firstOfValues(rows: readonly number[], { values, codes }: Column): number[] {
  const seen = new Set<unknown>([undefined, ''])
  return rows.filter((row) => {
    const value = values[codes[row] ?? 0]
    return !seen.has(value) && seen.add(value)
  })
}
