/** The rows of a snapshot as queries need them: columns, and the text of each row. */
import { parseInTurns } from '../core/json-parse.ts'
import { CLOSE, COMMA, endOfText, endOfValue, OPEN, skipSpace } from '../core/json-scan.ts'
import { concatInTurns, jsonInTurns } from '../core/long-values.ts'
import { inTurns, waitForTurn } from '../core/turns.ts'
import { Numbers } from '../core/values.ts'
import { type Column, ColumnBuilder } from './columns.ts'
import { createCollectionBody, frameOf, type PageFrame } from './page-writer.ts'
import type { CollectionRequest } from './request.ts'
import { compileProjection, flattenRow } from './select.ts'
import { readerOf } from './sort-keys.ts'
import type { Source } from './sources.ts'
import { Table } from './table.ts'
import type { Element, Row } from './value.ts'

export interface QueriedRows {
  readonly table: Table
  readonly texts: RowTexts
}

const NEWLINE = 0x0a
const COMMA_TEXT = Buffer.from(',')

/**
 * Reads the parts of a snapshot, one per turn of about a millisecond. They are JSON lists of rows with `ROW_SEPARATOR` in
 * between.
 */
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

/**
 * Selects members of a row in its bytes: values, spaces and the order of names stay as the node wrote them. `names` are those
 * of members, dotted ones of members in nested objects. `between`: the text between two members. `at`: the opening bracket of
 * an object in the row; `path`: the names in front of its members, with dots behind them.
 */
export function pickMembers(row: Buffer, names: ReadonlySet<string>, between: Buffer, at = 0, path = ''): Buffer {
  if (row[at] !== OPEN) return row
  const picked: Buffer[] = []
  let place = skipSpace(row, at + 1)
  while (row[place] !== CLOSE && place < row.length) {
    const nameEnd = endOfText(row, place)
    const valueAt = skipSpace(row, skipSpace(row, nameEnd) + 1)
    const end = endOfValue(row, valueAt)
    const name = path + (JSON.parse(row.toString('utf8', place, nameEnd)) as string)
    if (names.has(name)) picked.push(row.subarray(place, end))
    else if (row[valueAt] === OPEN && [...names].some((each) => each.startsWith(`${name}.`))) {
      const inner = pickMembers(row, names, between, valueAt, `${name}.`)
      if (inner.length > EMPTY_LENGTH) picked.push(Buffer.concat([row.subarray(place, valueAt), inner]))
    }
    place = skipSpace(row, end)
    if (row[place] === COMMA) place = skipSpace(row, place + 1)
  }
  const members = picked.flatMap((member, index) => (index === 0 ? [member] : [between, member]))
  return Buffer.concat([OPENING, ...members, CLOSING])
}

const LIST_START = Buffer.from('[')
const LIST_END = Buffer.from(']')
const OPENING = Buffer.from('{')
const CLOSING = Buffer.from('}')
const EMPTY_LENGTH = 2

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

  /** Returns the texts of some rows with this text in between. */
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

/** Reads the elements of a collection, in their natural order, into a table. The fields of databases are known; of other sources it retains the elements. */
export class TableBuilder {
  readonly #source: Source
  readonly #columns: readonly (readonly [field: string, read: (row: Row) => unknown, column: ColumnBuilder])[]
  readonly #elements: Element[] | undefined
  #length = 0

  constructor(source: Source) {
    this.#source = source
    this.#elements = source.engine === 'array' ? [] : undefined
    this.#columns = fieldsOf(source).map((field) => [field, readerOf(field, source), new ColumnBuilder()])
  }

  /** Rows of inventories may be nested or flat. */
  add(element: Element): void {
    this.#length += 1
    this.#elements?.push(element)
    if (typeof element === 'string') return
    for (const [, read, column] of this.#columns) column.add(read(element))
  }

  /** Works in turns of the event loop: the columns of many rows are some megabytes. */
  async build(): Promise<Table> {
    const columns = new Map<string, Column>()
    for (const [field, , column] of this.#columns) {
      await waitForTurn()
      columns.set(field, column.build())
    }
    return new Table({ source: this.#source, length: this.#length, columns, elements: this.#elements ?? [] })
  }
}

/** All fields that a query of a database can name. */
function fieldsOf(source: Source): string[] {
  if (source.engine === 'array') return []
  const filtered = Object.values(source.filters ?? {}).flatMap((filter) =>
    filter.by === 'equal'
      ? (filter.fields ?? [])
      : filter.by === 'range'
        ? filter.field
        : filter.by === 'listed'
          ? filter.field
          : [filter.field, filter.fallbackField],
  )
  return [...new Set([...Object.keys(source.fields), ...(source.hidden ?? []), ...filtered])]
}
