/** Builds the table of a snapshot from its rows, one after the other. */
import { waitForTurn } from '../core/turns.ts'
import { type Column, ColumnBuilder } from './columns.ts'
import { readerOf } from './sort-keys.ts'
import type { Source } from './sources.ts'
import { Table } from './table.ts'
import type { Element, Row } from './value.ts'

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
  const filtered = Object.values(source.filters ?? {}).flatMap((filter) => {
    if (filter.by === 'equal') return filter.fields ?? []
    return filter.by === 'olderThan' ? [filter.field, filter.fallbackField] : [filter.field]
  })
  return [...new Set([...Object.keys(source.fields), ...(source.hidden ?? []), ...filtered])]
}
