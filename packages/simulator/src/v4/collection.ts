/**
 * Collections of the v4 API: filters, `q`, `search`, `sort`, `select` and pages over rows in their final form.
 * Database tables know their fields, and ignore case; other collections are lists in memory.
 */
import { V4Error } from './errors.ts'
import { type CollectionQuery, fieldOf, type Item, matching, parseSearch, type Table, textOrder } from './search.ts'

export { fieldOf, type Item, matching, type Table } from './search.ts'

export interface Page {
  readonly items: readonly unknown[]
  readonly total: number
}

export const DEFAULT_LIMIT = 500

/** Returns the page of a request; `now` is the end of periods in `q`. */
export function collectRows(rows: readonly Item[], table: Table, query: CollectionQuery, now: Date): Page {
  const select = selected(table, query.select?.split(','))
  const found = matching(rows, table, query, now)
  const sorted = sortRows(asRead(found, table, query), table, query.sort)
  const { unshown = [] } = table
  if (query.distinct?.toLowerCase() === 'true') {
    const groups = new Map(sorted.map((row) => [JSON.stringify(pick(row, select ?? table.fields)), row]))
    const items = [...groups.values()].map((row) => pick(row, select ?? table.fields)).filter(hasValues)
    return { items: cut(items, query), total: items.length }
  }
  const shown = (row: Item) => (select === undefined ? without(row, unshown) : pick(row, select))
  return { items: cut(sorted, query).map(shown), total: sorted.length }
}

/** Parameters that do not change the statement of a database. */
const NOT_IN_STATEMENT: readonly string[] = ['offset', 'limit', 'pretty', 'wait_for_complete', 'agents_list', 'whole']
/** A prime, so that each factor gives another order. */
export const PLACES = 104_729

/** Returns what the order of rows that a statement leaves open depends on. */
export function factorOf(statement: string): number {
  let hash = 7
  for (const char of statement) hash = (hash * 31 + char.charCodeAt(0)) % 99_991
  return hash + 1
}

/**
 * Returns rows as a database reads them: in the order of their table for a plain page, and otherwise in that of the index
 * which it chooses for the statement. Rows that a sort leaves open stay in this order.
 */
function asRead(rows: readonly Item[], { kind, order, keepsTies }: Table, query: CollectionQuery): readonly Item[] {
  const { sort, search, ...parts } = query
  const others = Object.entries(parts).flatMap(([name, value]) =>
    value === undefined || NOT_IN_STATEMENT.includes(name) ? [] : [name],
  )
  // No index helps a search, which reads all fields.
  const isPlain = sort === undefined || (search === undefined && sort === order)
  const isKept = search === undefined && keepsTies?.exceptOf.includes(sort?.replace(/^[+-]/, '') ?? '') === false
  if (kind === 'list' || (others.length === 0 && (isPlain || isKept))) return rows
  const statement = `${others.sort()} ${search === undefined} ${sort} ${query.select}`
  const factor = factorOf(statement)
  const placeOf = (at: number) => ((at + 1) * factor) % PLACES
  return rows
    .map((row, at) => ({ row, place: placeOf(at) }))
    .sort((a, b) => a.place - b.place)
    .map(({ row }) => row)
}

function hasValues(row: Item): boolean {
  return Object.keys(row).length > 0
}

/** Returns the page of a collection of texts. */
export function collectTexts(texts: readonly string[], query: CollectionQuery): Page {
  const { negated, text } = parseSearch(query.search)
  const found = texts.filter((one) => text === undefined || one.toLowerCase().includes(text) !== negated)
  const { sort } = query
  // Any field of `sort` fails inside the API.
  if (sort !== undefined && !/^[+ -]$/.test(sort)) throw new V4Error(1000)
  const sorted = found.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0))
  if (sort === '-') sorted.reverse()
  return { items: cut(sorted, query), total: sorted.length }
}

export function cut<T>(rows: readonly T[], { offset, limit }: Pick<CollectionQuery, 'offset' | 'limit'>): readonly T[] {
  const from = Number(offset ?? 0)
  return rows.slice(from, from + Number(limit ?? DEFAULT_LIMIT))
}

/**
 * One sign counts for all fields. A row without a value precedes the others. Databases sort capitals first, as recorded:
 * `macOS` is behind `Ubuntu`.
 */
export function sortRows(rows: readonly Item[], table: Table, sort = table.order): readonly Item[] {
  if (sort === undefined) return rows
  const signed = /^[+-]/.test(sort)
  const fields = (signed ? sort.slice(1) : sort).split(',').filter((field) => field !== '')
  const sortable = table.sortable ?? table.fields
  const unknown = fields.filter((field) => !sortable.includes(field))
  if (unknown.length > 0) throw unknownSort(table, sortable, unknown)
  const sign = sort.startsWith('-') ? -1 : 1
  const by = fields.flatMap((field) => {
    const numbers = table.sortedBy?.[field]
    if (numbers === undefined) return [(row: Item) => fieldOf(row, field)]
    return numbers.map((name) => (row: Item) => Number.parseInt(String(fieldOf(row, name)), 10) || 0)
  })
  return rows.toSorted((a, b) => {
    for (const read of by) {
      const order = valueOrder(read(a), read(b), table.kind === 'list')
      if (order !== 0) return sign * order
    }
    return 0
  })
}

/** Lists in memory name the fields in the remediation. */
function unknownSort(table: Table, sortable: readonly string[], unknown: readonly string[]): V4Error {
  if (table.kind === 'database') {
    const allowed = sortable.toSorted().map((field) => `'${field}'`)
    return new V4Error(1403, `Allowed sort fields: [${allowed.join(', ')}]. Fields: ${unknown.join(', ').trim()}`)
  }
  const wrong = `Allowed sort fields: ${sortable.join(', ')}. Wrong fields: ${unknown.join(', ')}`
  return new V4Error(1403, '', { remediation: `Please, use only allowed sort fields: ${wrong}` })
}

export function valueOrder(a: unknown, b: unknown, ignoresCase = true): number {
  if (a === undefined || b === undefined) return Number(a !== undefined) - Number(b !== undefined)
  if (typeof a === 'number' && typeof b === 'number') return a - b
  if (!ignoresCase) return textOrder(String(a), String(b))
  return textOrder(String(a).toLowerCase(), String(b).toLowerCase())
}

function selected(table: Table, names: readonly string[] | undefined): readonly string[] | undefined {
  if (names === undefined) return undefined
  const known = table.fields
  const unknown = [...new Set(names.filter((name) => !isSelectable(name, known, table)))]
  if (unknown.length > 0) {
    const detail = table.kind === 'database' ? `Allowed select fields: ${known.join(', ')}. Fields ` : ''
    throw new V4Error(1724, `${detail}${unknown.join(', ')}`)
  }
  return [...new Set([...names, ...(table.keys ?? [])])]
}

/** Lists also take fields inside their objects (`details.regex`). */
function isSelectable(name: string, known: readonly string[], { kind }: Table): boolean {
  return known.includes(name) || (kind === 'list' && known.includes(name.split('.')[0] ?? ''))
}

/** Returns the fields of a row that have a value, dotted ones nested. */
export function pick(row: Item, fields: readonly string[]): Item {
  const picked: Record<string, unknown> = {}
  for (const field of fields) {
    const value = fieldOf(row, field)
    if (value === undefined) continue
    let into = picked
    const parts = field.split('.')
    for (const part of parts.slice(0, -1)) {
      into[part] ??= {}
      into = into[part] as Record<string, unknown>
    }
    into[parts.at(-1) ?? ''] = value
  }
  return picked
}

function without(row: Item, fields: readonly string[]): Item {
  if (!fields.some((field) => Object.hasOwn(row, field))) return row
  return Object.fromEntries(Object.entries(row).filter(([name]) => !fields.includes(name)))
}
