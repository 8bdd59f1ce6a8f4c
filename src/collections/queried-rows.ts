/** The rows of a snapshot as queries need them: columns, and the text of each row. */
import { parseInTurns } from '../core/json-parse.ts'
import { inTurns } from '../core/long-lists.ts'
import { concatInTurns, jsonInTurns } from '../core/long-values.ts'
import { Numbers } from '../core/values.ts'
import { createCollectionBody, frameOf, type PageFrame } from './page-frame.ts'
import { pickMembers } from './pick-members.ts'
import type { CollectionRequest } from './request.ts'
import { compileProjection, flattenRow } from './select.ts'
import type { Source } from './sources.ts'
import type { Table } from './table.ts'
import { TableBuilder } from './table-builder.ts'
import type { Element } from './value.ts'

export interface QueriedRows {
  readonly table: Table
  readonly texts: RowTexts
}

const NEWLINE = 0x0a
const COMMA_TEXT = Buffer.from(',')

/** Reads the parts of a snapshot (`PartWriter`), one per turn of about a millisecond. */
export async function readParts(parts: readonly Buffer[], source: Source): Promise<QueriedRows> {
  const builder = new TableBuilder(source)
  const texts = new RowTexts(parts)
  for (const [number, part] of parts.entries()) {
    for (const element of (await parseInTurns(part)) as Element[]) builder.add(element)
    texts.addPart(number)
  }
  return { table: await builder.build(), texts }
}

interface Query {
  readonly collection: CollectionRequest
  readonly source: Source
}

/** Returns the body of the response. Throws CollectionError if the node would refuse the request. */
export async function answerFrom(
  { table, texts }: QueriedRows,
  { collection, source }: Query,
  frame: PageFrame = frameOf(),
): Promise<Buffer> {
  const project = compileProjection(collection.select, source)
  // The rows have the default order already, so a page without a sort is not sorted.
  const { rows, totalItems } = await table.page(collection)
  if (collection.select === undefined && !table.hasHiddenValues)
    return createCollectionBody({ chunks: texts.list(rows, Buffer.from(frame.between)), total: totalItems }, frame)
  const items: unknown[] = []
  for (let at = 0; at < rows.length; at += ROWS_PER_TURN) {
    const some = await texts.parse(rows.slice(at, at + ROWS_PER_TURN), source)
    for (const element of some) items.push(project(element))
  }
  const chunks = [(await jsonInTurns(items)).subarray(1, -1)]
  return createCollectionBody({ chunks, total: totalItems }, frame)
}

/**
 * Returns the body of the response in the bytes of the node. Returns undefined for a page without rows, around which
 * the node may write another text. Throws CollectionError.
 */
export async function answerInFrame(
  { table, texts }: QueriedRows,
  { collection, source }: Query,
  frame: PageFrame,
): Promise<Buffer | undefined> {
  compileProjection(collection.select, source)
  const { rows, totalItems } = await table.page(collection)
  if (rows.length === 0) return undefined
  const between = Buffer.from(frame.between)
  const { select } = collection
  if (select === undefined) return createCollectionBody({ chunks: texts.list(rows, between), total: totalItems }, frame)
  const names = new Set([...select.split(','), ...(source.alwaysSelected ?? [])])
  const chunks: Buffer[] = []
  for await (const some of inTurns(rows)) {
    for (const row of some) {
      if (chunks.length > 0) chunks.push(between)
      chunks.push(pickMembers(texts.at(row), names, between))
    }
  }
  return createCollectionBody({ chunks, total: totalItems }, frame)
}

const LIST_START = Buffer.from('[')
const LIST_END = Buffer.from(']')

const ROWS_PER_TURN = 64

/** The text of each row, as the node sent it. */
class RowTexts {
  readonly #parts: readonly Buffer[]
  /** For each row its part, its offset there, and the offset behind it. */
  readonly #places = new Numbers()

  constructor(parts: readonly Buffer[]) {
    this.#parts = parts
  }

  get length(): number {
    return this.#places.length / 3
  }

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

  at(row: number): Buffer {
    const part = this.#parts[this.#places.at(3 * row)] ?? Buffer.alloc(0)
    return part.subarray(this.#places.at(3 * row + 1), this.#places.at(3 * row + 2))
  }

  list(rows: readonly number[], between = COMMA_TEXT): readonly Buffer[] {
    const chunks: Buffer[] = []
    for (const row of rows) {
      if (chunks.length > 0) chunks.push(between)
      chunks.push(this.at(row))
    }
    return chunks
  }

  /** Parses some rows. Those of inventories become flat, as they are projected. */
  async parse(rows: readonly number[], source: Source): Promise<Element[]> {
    const text = await concatInTurns([LIST_START, ...this.list(rows), LIST_END])
    const elements = (await parseInTurns(text)) as Element[]
    if (source.engine !== 'database' || !source.nested) return elements
    return elements.map((element) => (typeof element === 'string' ? element : flattenRow(element)))
  }
}
