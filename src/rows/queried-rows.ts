/** The rows of a snapshot as queries need them: columns, and the text of each row. */
import { waitForJsonTurn } from '../core/turns.ts'
import type { CollectionRequest } from '../query/request.ts'
import { compileProjection, flattenRow } from '../query/select.ts'
import type { Source } from '../query/sources.ts'
import type { Element } from '../query/value.ts'
import { Numbers } from './column.ts'
import { createCollectionBody } from './page-writer.ts'
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

/**
 * Returns the body of the response. `others`: further members of `data`. Throws CollectionError if the node would refuse
 * the request.
 */
export async function answerFrom(
  { table, texts }: QueriedRows,
  { collection, source }: { readonly collection: CollectionRequest; readonly source: Source },
  others: Readonly<Record<string, unknown>> = {},
): Promise<Buffer> {
  const project = compileProjection(collection.select, source)
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
