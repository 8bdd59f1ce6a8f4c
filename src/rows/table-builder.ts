/** Reads the elements of a collection into a table. */
import { waitForTurn } from '../core/turns.ts'
import { splitNestedName } from '../query/select.ts'
import type { Source } from '../query/sources.ts'
import { type Element, fieldValue, type Row } from '../query/value.ts'
import { type Column, ColumnBuilder } from './column.ts'
import { Table } from './table.ts'

/** Takes elements in their natural order. The fields of databases are known; of other sources it retains the elements. */
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
        : [filter.field, filter.fallbackField],
  )
  return [...new Set([...Object.keys(source.fields), ...(source.hidden ?? []), ...filtered])]
}

function readerOf(field: string, source: Source): (row: Row) => unknown {
  const path = source.engine === 'database' && source.nested ? splitNestedName(field) : undefined
  if (path === undefined) return (row) => fieldValue(row, field)
  const [outer, inner] = path
  return (row) => {
    const nested = row[outer]
    const isNested = typeof nested === 'object' && nested !== null && Object.hasOwn(nested, inner)
    return isNested ? ((nested as Row)[inner] ?? undefined) : fieldValue(row, field)
  }
}
