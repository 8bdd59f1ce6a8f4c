/**
 * Whether the rows of a table determine the response of the manager. A request may be one that the edge can compute, and
 * the rows may still leave open in which order the manager returns them, or how it compares their values.
 */
import { inTurns } from '../core/long-lists.ts'
import type { Column } from './columns.ts'
import { conditionsIn } from './grammar.ts'
import { codePointKey, parseSort, type SortField, type SortValue, sortFieldsOf } from './order.ts'
import type { CollectionRequest } from './request.ts'
import type { DatabaseSource, Filter, Source } from './sources.ts'
import type { Table } from './table.ts'
import { toText } from './value.ts'

/** Throws CollectionError. */
export async function isDetermined(table: Table, request: CollectionRequest, source: Source): Promise<boolean> {
  if (request.distinct) {
    const { select: _, ...whole } = request
    return (await hasOrderOfValues(table, request)) && isDeterminedStrictly(table, whole, source)
  }
  if (!(await hasOrderOfManager(table, request, source))) return false
  return !source.isStrict || isDeterminedStrictly(table, request, source)
}

/** Whether the different values of a field are sorted, or there is only one. */
async function hasOrderOfValues(table: Table, request: CollectionRequest): Promise<boolean> {
  const { sort, select } = request
  if (sort !== undefined && parseSort(sort).fields[0] === select) return true
  return (await table.page(request)).totalItems <= 1
}

/**
 * Whether the manager has the same order. Rows that a sort leaves open have the order of their source: that of a list in
 * memory, which a sort by default hides; in a database that of the index which it chooses for the statement. A missing or
 * differently typed value fails in a list.
 */
async function hasOrderOfManager(table: Table, request: CollectionRequest, source: Source): Promise<boolean> {
  if (table.length < 2 || (source.engine === 'array' && request.sort === undefined)) return true
  const { sort = source.defaultSort } = request
  const sorting = sort === undefined ? undefined : table.sortingOf(sort)
  const isByDefault = request.sort === undefined || isSameSort(request.sort, source)
  if (source.engine === 'array') {
    const fields = sorting?.fields ?? []
    if (!fields.every(({ field }) => hasOneType(table.sortColumnOf(field).values))) return false
    if (isByDefault || source.defaultSort === undefined) return true
  } else if (isByDefault && source.isOrdered) return true
  else if (!isSpecial(request, source)) {
    if (isByDefault) return true
    const [named = ''] = sortFieldsOf(sort, source)
    if (source.orderOfTies?.exceptOf.includes(named) === false) return true
  }
  return !(await table.hasTies(request, sorting?.fields[0]))
}

/** Whether a sort is the default one. The sign does not matter for a list, where rows with equal values keep their order. */
function isSameSort(sort: string, source: Source): boolean {
  const { defaultSort, engine } = source
  if (defaultSort === undefined) return false
  const isSameSign = parseSort(sort).descending === parseSort(defaultSort).descending
  return `${sortFieldsOf(sort, source)}` === `${sortFieldsOf(undefined, source)}` && (engine === 'array' || isSameSign)
}

/** Whether the request may lead to another index of the database than one for all rows and fields. */
function isSpecial({ filters = {}, sort, search, q, select }: CollectionRequest, source: DatabaseSource): boolean {
  if (Object.keys(filters).length > 0 || q !== undefined || select !== undefined) return true
  return search !== undefined && (sort !== undefined || source.searchesInOrder !== true)
}

function hasOneType(values: readonly unknown[]): boolean {
  const [first] = values
  const types: readonly string[] = ['string', 'number']
  return values.every((value) => typeof value === typeof first && types.includes(typeof first))
}

async function isDeterminedStrictly(table: Table, request: CollectionRequest, source: Source): Promise<boolean> {
  if (!hasSelected(table, request, source)) return false
  for (const compared of comparedValues(request, source)) if (!(await areInRows(table, compared))) return false
  const sorting = request.sort === undefined ? undefined : table.sortingOf(request.sort)
  for (const field of sorting?.fields ?? []) if (!(await isSortedInAnyCase(table, field, source))) return false
  return true
}

/** The manager leaves out a row without any selected field. */
function hasSelected(table: Table, { select }: CollectionRequest, source: Source): boolean {
  if (select === undefined || (source.engine === 'database' && source.alwaysSelected !== undefined)) return true
  const isFilled = (field: string) => !table.columnOf(field).values.includes(undefined)
  const fields = select.split(',').filter((field) => source.engine === 'array' || Object.hasOwn(source.fields, field))
  return source.engine === 'array' ? fields.every(isFilled) : fields.some(isFilled)
}

/** Whether the rows have each value of a list that the manager reports if no row has it. */
export async function hasListedValues(table: Table, request: CollectionRequest, source: Source): Promise<boolean> {
  for (const { field, values, mustExist } of comparedValues(request, source)) {
    if (!mustExist) continue
    const spellings = await spellingsOf(table.columnOf(field))
    if (!values.every((value) => spellings.get(value.toLowerCase())?.text === value)) return false
  }
  return true
}

interface Compared {
  readonly field: string
  readonly values: readonly string[]
  readonly mustExist: boolean
}

/** Returns the values that rows must equal, or must not. */
function comparedValues({ filters = {}, q }: CollectionRequest, source: Source): Compared[] {
  const ofFilters = Object.entries(filters).flatMap(([name, value]) =>
    comparedByFilter(source.filters?.[name], name, value),
  )
  const ofConditions = conditionsIn(q)
    .filter(({ operator }) => operator === '=' || operator === '!=')
    .map(({ field, value }) => ({ field, values: [value], mustExist: false }))
  return [...ofFilters, ...ofConditions]
}

function comparedByFilter(filter: Filter | undefined, name: string, value: string): Compared[] {
  if (filter?.by === 'listed') {
    const { field, mustExist = false } = filter
    return [{ field, values: value.split(','), mustExist }]
  }
  if (filter?.by !== 'equal' || value === filter.matchAll) return []
  return (filter.fields ?? [name]).map((field) => ({ field, values: [value], mustExist: filter.mustExist === true }))
}

/**
 * Whether it does not matter if the manager ignores case. Values that must exist have the order of their rows, so that
 * it does not matter either which of both orders the manager returns.
 */
async function areInRows(table: Table, { field, values, mustExist }: Compared): Promise<boolean> {
  const spellings = await spellingsOf(table.columnOf(field))
  let last = -1
  for (const value of values) {
    const known = spellings.get(value.toLowerCase())
    if (known === undefined ? mustExist : !known.isOnly || known.text !== value) return false
    if (mustExist && (known?.at ?? -1) <= last) return false
    last = known?.at ?? last
  }
  return true
}

interface Spelling {
  readonly text: string
  /** Its place in the column. */
  readonly at: number
  /** Whether no other value differs from it in case only. */
  isOnly: boolean
}

/** By the text in lower case. */
type Spellings = ReadonlyMap<string, Spelling>

const spellingsByColumn = new WeakMap<Column, Promise<Spellings>>()

function spellingsOf(column: Column): Promise<Spellings> {
  const known = spellingsByColumn.get(column) ?? findSpellings(column)
  spellingsByColumn.set(column, known)
  return known
}

/** Works in turns of the event loop. */
async function findSpellings({ values }: Column): Promise<Spellings> {
  const spellings = new Map<string, Spelling>()
  let at = 0
  for await (const some of inTurns(values)) {
    for (const value of some) {
      for (const one of Array.isArray(value) ? value : [value]) {
        if (one === undefined) continue
        const text = toText(one)
        const lower = text.toLowerCase()
        const known = spellings.get(lower)
        if (known === undefined) spellings.set(lower, { text, at, isOnly: true })
        else if (known.text !== text) known.isOnly = false
      }
      at += 1
    }
  }
  return spellings
}

async function isSortedInAnyCase(table: Table, field: SortField, { engine }: Source): Promise<boolean> {
  const toSortValue = (value: unknown): SortValue => {
    const own = field.toSortValue(value)
    if (typeof own !== 'string') return own
    return codePointKey(engine === 'array' ? toText(value) : toText(value).toLowerCase())
  }
  const { ranks } = await table.ranksOf(field)
  const { ranks: others } = await table.ranksOf({
    field: field.field,
    key: `${field.key} in the other case`,
    toSortValue,
  })
  return ranks.every((rank, at) => rank === others[at])
}
