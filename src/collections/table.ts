/**
 * The rows of a collection in a form that is queried without reading each row: columns with their different values. The
 * matches of a filter and the order of a sort are computed once, and remembered for the next pages.
 */
import { growingLru } from '../core/recently-used.ts'
import { waitForTurn } from '../core/turns.ts'
import { compilePredicates } from './collect.ts'
import { type Column, columnOf, matchesOf, type Ranks, rankValues, sortByRank } from './columns.ts'
import { parseSorting, type SortField, type Sorting, sortedValue } from './order.ts'
import { allPlaces, firstOfValues, placesOf } from './places.ts'
import { countTests, type Predicate } from './predicate.ts'
import { CollectionError, type CollectionRequest, parsePage } from './request.ts'
import type { Source } from './sources.ts'
import { type Element, fieldValue } from './value.ts'

/** The places of the rows of one page, and the number of rows on all pages. */
interface TablePage {
  readonly rows: readonly number[]
  readonly totalItems: number
}

/** Which rows match; `undefined`: all. */
interface Matches {
  readonly isMatch: Uint8Array | undefined
  readonly total: number
}

/** Filters and sorts that a table remembers: 4 bytes per row for a sort, one for a filter. */
const MAX_REMEMBERED = 16

interface TableParts {
  readonly source: Source
  readonly length: number
  readonly columns: Map<string, Column>
  /** Empty for databases. */
  readonly elements: readonly Element[]
}

export class Table {
  readonly length: number
  readonly #source: Source
  readonly #elements: readonly Element[]
  readonly #columns: Map<string, Column>
  readonly #ranks = new Map<string, Promise<Ranks>>()
  readonly #orders: Remembered<Uint32Array> = growingLru(MAX_REMEMBERED)
  readonly #matches: Remembered<Matches> = growingLru(MAX_REMEMBERED)

  constructor({ source, length, columns, elements }: TableParts) {
    this.#source = source
    this.length = length
    this.#columns = columns
    this.#elements = elements
  }

  /** Whether a row has a value that no response may show. */
  get hasHiddenValues(): boolean {
    const { hidden = [] } = this.#source.engine === 'database' ? this.#source : {}
    return hidden.some((field) => this.columnOf(field).values.some((value) => value !== undefined))
  }

  /**
   * Returns about how many values a page tests and sorts: none for a filter and a sort that are remembered, or that the
   * request has not, or that are refused.
   */
  valuesToRead(request: CollectionRequest): number {
    const { sort } = request
    try {
      const predicates = compilePredicates(request, this.#source)
      const isMatched = predicates.length === 0 || this.#matches.has(keyOf(request))
      const tested = isMatched ? 0 : countTests({ kind: 'every', of: predicates })
      const sorted = sort === undefined || this.#orders.has(sort) ? 0 : (this.sortingOf(sort)?.fields.length ?? 0)
      return this.length * (tested + sorted)
    } catch (fault) {
      if (fault instanceof CollectionError) return 0
      throw fault
    }
  }

  /** Without `sort`, rows keep their natural order. Works in turns of the event loop. Throws CollectionError. */
  async page(request: CollectionRequest): Promise<TablePage> {
    const cutsFirst = this.#source.engine === 'array' && this.#source.offsetFirst === true
    const { offset, limit } = parsePage(request, this.#source.maxLimit)
    const predicates = compilePredicates(request, this.#source)
    const sorting = request.sort === undefined ? undefined : this.sortingOf(request.sort)
    const { isMatch, total } = await this.#match(request, predicates)
    const order = sorting && (await remember(this.#orders, request.sort ?? '', () => this.#orderOf(sorting)))
    // Many requests may have waited for the same filter or sort.
    await waitForTurn()
    const found = { length: this.length, order, isMatch }
    if (request.distinct) {
      const different = firstOfValues(allPlaces(found), this.columnOf(request.select ?? ''))
      return { rows: different.slice(offset, offset + limit), totalItems: different.length }
    }
    if (!cutsFirst) return { rows: placesOf(found, { offset, limit }), totalItems: total }
    const rows = allPlaces(found)
      .filter((row) => row >= offset)
      .slice(0, limit)
    return { rows, totalItems: rows.length }
  }

  /** Whether several rows that match have equal values of a field, so that a sort by the field leaves their order open. */
  async hasTies(request: CollectionRequest, field: SortField | undefined): Promise<boolean> {
    const { isMatch, total } = await this.#match(request, compilePredicates(request, this.#source))
    if (total < 2 || field === undefined) return total > 1
    const { ranks, count } = await this.ranksOf(field)
    if (total === this.length || total > count) return total > count
    const { codes } = this.sortColumnOf(field.field)
    const seen = new Uint8Array(count)
    for (let row = 0; row < this.length; row += 1) {
      if (isMatch?.[row] === 0) continue
      const rank = ranks[codes[row] ?? 0] ?? 0
      if (seen[rank] === 1) return true
      seen[rank] = 1
    }
    return false
  }

  sortingOf(sort: string): Sorting | undefined {
    return parseSorting(sort, this.#source, this.#elements)
  }

  #match(request: CollectionRequest, predicates: readonly Predicate[]): Matches | Promise<Matches> {
    if (predicates.length === 0) return { isMatch: undefined, total: this.length }
    return remember(this.#matches, keyOf(request), async () => {
      const { length } = this
      const table = { length, elements: this.#elements, columnOf: (field: string) => this.columnOf(field) }
      const isMatch = await matchesOf({ kind: 'every', of: predicates }, table)
      await waitForTurn()
      let total = 0
      // An iterator takes several times as long.
      for (let row = 0; row < length; row += 1) total += isMatch[row] ?? 0
      return { isMatch, total }
    })
  }

  async #orderOf({ sign, fields }: Sorting): Promise<Uint32Array> {
    let order: Uint32Array = new Uint32Array(this.length)
    for (let row = 0; row < order.length; row += 1) order[row] = row
    // Each pass keeps the order of rows with equal values, so the field with the highest precedence is the last one.
    for (const field of fields.toReversed()) {
      const { codes } = this.sortColumnOf(field.field)
      order = await sortByRank(order, codes, await this.ranksOf(field), sign)
    }
    return order
  }

  ranksOf({ key, field, toSortValue }: SortField): Promise<Ranks> {
    return remember(this.#ranks, key, () => rankValues(this.sortColumnOf(field).values, toSortValue))
  }

  sortColumnOf(field: string): Column {
    // Texts are sorted by themselves.
    if (typeof this.#elements[0] !== 'string') return this.columnOf(field)
    return this.#remembered('', (element) => sortedValue(element, field))
  }

  columnOf(field: string): Column {
    return this.#remembered(field, (element) => fieldValue(element, field))
  }

  #remembered(name: string, read: (element: Element) => unknown): Column {
    const known = this.#columns.get(name)
    if (known !== undefined) return known
    if (this.#source.engine === 'database') throw new Error(`the table has no field ${name}`)
    const column = columnOf(this.#elements.map(read))
    this.#columns.set(name, column)
    return column
  }
}

/** Equal for requests with equal matches. */
function keyOf({ filters, search, q }: CollectionRequest): string {
  return JSON.stringify([filters, search, q])
}

type Remembered<Value> = ReturnType<typeof growingLru<string, Promise<Value>>>

/** Returns the result of one of the latest computations. Requests for the same one share it. */
function remember<Value>(
  known: Map<string, Promise<Value>> | Remembered<Value>,
  key: string,
  compute: () => Promise<Value>,
): Promise<Value> {
  const found = known.get(key)
  if (found !== undefined) return found
  const value = compute()
  value.catch(() => known.delete(key))
  known.set(key, value)
  return value
}
