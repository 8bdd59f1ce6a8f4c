/** The rows of a snapshot as queries need them: columns, and the text of each row. */
import { waitForJsonTurn } from '../core/turns.ts'
import { flattenRow } from '../query/select.ts'
import type { Source } from '../query/sources.ts'
import type { Element } from '../query/value.ts'
import { Numbers } from './column.ts'
import type { Table } from './table.ts'
import { TableBuilder } from './table-builder.ts'

export interface QueriedRows {
  readonly table: Table
  readonly texts: RowTexts
}

const NEWLINE = 0x0a
const COMMA = 0x2c

/**
 * Reads the parts of a snapshot, one per turn of about a millisecond. They are JSON lists of rows with `ROW_SEPARATOR` in
 * between.
 */
export async function readParts(parts: readonly Buffer[], source: Source): Promise<QueriedRows> {
  const builder = new TableBuilder(source)
  const texts = new RowTexts(parts)
  for (const [number, part] of parts.entries()) {
    await waitForJsonTurn(part.length)
    for (const element of JSON.parse(part.toString()) as Element[]) builder.add(element)
    texts.addPart(number)
  }
  return { table: await builder.build(), texts }
}

/** The text of each row, as the node sent it but without white space. */
export class RowTexts {
  readonly #parts: readonly Buffer[]
  /** For each row its part, its offset there, and the offset behind it. */
  readonly #places = new Numbers()

  constructor(parts: readonly Buffer[]) {
    this.#parts = parts
  }

  /** The number of rows. */
  get length(): number {
    return this.#places.length / 3
  }

  /** Adds the rows of a part. */
  addPart(number: number): void {
    const part = this.#parts[number] ?? Buffer.alloc(0)
    const end = part.length - 1
    for (let at = 1; at < end; ) {
      const newline = part.indexOf(NEWLINE, at)
      const rowEnd = newline < 0 ? end : newline - 1
      this.#places.push(number)
      this.#places.push(at)
      this.#places.push(rowEnd)
      at = newline < 0 ? end : newline + 1
    }
  }

  /** Returns the texts of some rows with commas in between. */
  join(rows: readonly number[]): Buffer {
    let length = Math.max(0, rows.length - 1)
    for (const row of rows) length += this.#places.at(3 * row + 2) - this.#places.at(3 * row + 1)
    const joined = Buffer.allocUnsafe(length)
    let at = 0
    for (const row of rows) {
      if (at > 0) joined[at++] = COMMA
      const part = this.#parts[this.#places.at(3 * row)]
      at += part?.copy(joined, at, this.#places.at(3 * row + 1), this.#places.at(3 * row + 2)) ?? 0
    }
    return joined
  }

  /** Parses some rows. Those of inventories become flat, as they are projected. */
  async parse(rows: readonly number[], source: Source): Promise<Element[]> {
    const text = this.join(rows)
    await waitForJsonTurn(text.length)
    const elements = JSON.parse(`[${text.toString()}]`) as Element[]
    if (source.engine !== 'database' || !source.nested) return elements
    return elements.map((element) => (typeof element === 'string' ? element : flattenRow(element)))
  }
}
