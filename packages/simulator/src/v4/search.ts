/** The rows of a collection that `search` and `q` find. Database tables know their fields, and ignore case. */
import { V4Error } from './errors.ts'
import { type Condition, compileQuery } from './query.ts'

/** An object of a collection; a dotted field name leads into nested objects. */
export type Item = Readonly<Record<string, unknown>>

export interface Table {
  readonly kind: 'database' | 'list'
  /** Fields of `select` and `q` in the order of error texts, and of `sort`. */
  readonly fields: readonly string[]
  readonly sortable?: readonly string[]
  /** Fields of times: `q` compares them as times and takes periods (`>1d`). */
  readonly times?: readonly string[]
  /** Fields that `select` always adds. */
  readonly keys?: readonly string[]
  /** Fields that are shown only if `select` names them. */
  readonly unshown?: readonly string[]
  /** Fields that `search` does not read. */
  readonly unsearched?: readonly string[]
  /** The order without `sort`; absent: the order of the rows. */
  readonly order?: string
  /** Without another condition, rows that a sort leaves open keep their order, except those of indexed fields. */
  readonly keepsTies?: { readonly exceptOf: readonly string[] }
  /** Fields that are sorted by whole numbers of others. */
  readonly sortedBy?: Readonly<Record<string, readonly string[]>>
}

export interface CollectionQuery {
  readonly offset?: string
  readonly limit?: string
  readonly search?: string
  readonly sort?: string
  readonly select?: string
  readonly q?: string
  readonly distinct?: string
}

const UNREADABLE = 'Cannot execute Global database query; unrecognized token: "\'%"'

/** Returns the rows that `search` and `q` find. */
export function matching(
  rows: readonly Item[],
  table: Table,
  { search, q }: CollectionQuery,
  now: Date,
): readonly Item[] {
  let found = rows
  if (search !== undefined) {
    if (table.kind === 'database' && search.includes('\u0000')) throw new V4Error(2003, UNREADABLE)
    const { negated, text = '' } = parseSearch(search)
    const contains =
      table.kind === 'database' ? likeMatcher(text) : (value: string) => value.toLowerCase().includes(text)
    const { unsearched = [] } = table
    const fields = table.fields.filter((field) => !unsearched.includes(field))
    const texts =
      table.kind === 'database' ? (row: Item) => fields.flatMap((field) => leaves(storedIn(table, row, field))) : leaves
    found = found.filter((row) => texts(row).some(contains) !== negated)
  }
  if (q !== undefined) {
    const holds = compiled(q, table, now)
    found = found.filter(holds)
  }
  return found
}

/** Lists in memory name the parameter in the text of a syntax error. */
function compiled(q: string, table: Table, now: Date): (row: Item) => boolean {
  try {
    return compileQuery(q, (condition) => conditionOf(condition, table, now))
  } catch (error) {
    const isSyntax = error instanceof V4Error && error.code === 1407
    if (!isSyntax || table.kind === 'database') throw error
    throw new V4Error(1407, `Parameter 'q' is not valid: '${q}'`)
  }
}

/** A leading `-` negates; quotes are removed, as in the real API. */
export function parseSearch(search: string | undefined): { negated: boolean; text: string | undefined } {
  const negated = search?.startsWith('-') === true
  return {
    negated,
    text: search
      ?.slice(negated ? 1 : 0)
      .replaceAll(/["']/g, '')
      .trim()
      .toLowerCase(),
  }
}

/** `LIKE '%text%'` of the database: `%` matches any text and `_` any letter. */
function likeMatcher(text: string): (value: string) => boolean {
  if (!/[%_]/.test(text)) return (value) => value.toLowerCase().includes(text)
  const pattern = text
    .replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
    .replaceAll('%', '[^]*')
    .replaceAll('_', '[^]')
  const found = new RegExp(pattern, 'i')
  return (value) => found.test(value)
}

/** Databases store times as numbers of seconds. */
function storedIn({ times = [] }: Table, row: Item, field: string): unknown {
  const value = fieldOf(row, field)
  const time = times.includes(field) && typeof value === 'string' ? Date.parse(value.replace(' ', 'T')) : Number.NaN
  return Number.isNaN(time) ? value : Math.floor(time / 1000)
}

function leaves(value: unknown): string[] {
  if (value === undefined || value === null) return []
  return typeof value === 'object' ? Object.values(value).flatMap(leaves) : [String(value)]
}

function conditionOf({ field, operator, value }: Condition, table: Table, now: Date): (row: Item) => boolean {
  if (table.kind === 'database' && !table.fields.includes(field)) {
    throw new V4Error(1408, `Available fields: ${table.fields.join(', ')}. Field: ${field}`)
  }
  if (value === 'null') return (row) => (fieldOf(row, field) === undefined) === (operator === '=')
  const isTime = table.times?.includes(field) === true
  const test = isTime ? timeTest(operator, value, now) : valueTest(operator, value)
  return (row) => {
    // The manager itself has no times.
    if (isTime && row.id === '000') return false
    const found = fieldOf(row, field)
    if (!Array.isArray(found)) return found !== undefined && found !== null && test(found)
    // A list matches by any member, and `!=` only if no member is equal.
    return operator === '!=' ? found.every(test) : found.some(test)
  }
}

const PERIODS: Readonly<Record<string, number>> = { d: 86_400, h: 3600, m: 60, s: 1, '': 1 }

function timeTest(operator: Condition['operator'], value: string, now: Date): (found: unknown) => boolean {
  const [, amount, unit = ''] = /^(\d+)([dhms]?)$/.exec(value) ?? []
  if (amount !== undefined) {
    const limit = now.getTime() - Number(amount) * (PERIODS[unit] ?? 1) * 1000
    return operator === '<' || operator === '='
      ? (found) => Date.parse(String(found)) > limit
      : (found) => Date.parse(String(found)) < limit
  }
  if (operator === '~') return (found) => String(found).includes(value)
  const wanted = Date.parse(/[zZ]|[+-]\d\d:\d\d$/.test(value) ? value : `${value.replace(' ', 'T')}Z`)
  const day = /^\d{4}-\d{2}-\d{2}$/.test(value) ? Date.parse(`${value}T00:00:00Z`) : wanted
  if (Number.isNaN(day)) throw new V4Error(1412, value)
  return (found) => compares(operator, Date.parse(String(found)) - day)
}

function valueTest(operator: Condition['operator'], value: string): (found: unknown) => boolean {
  const wanted = value.toLowerCase()
  if (operator === '~') return (found) => String(found).toLowerCase().includes(wanted)
  const number = /^\d+(?:\.\d+)?$/.test(value) ? Number(value) : undefined
  return (found) => {
    const numeric = number !== undefined && /^\d+(?:\.\d+)?$/.test(String(found))
    const order = numeric ? Number(found) - number : textOrder(String(found).toLowerCase(), wanted)
    return compares(operator, order)
  }
}

function compares(operator: Condition['operator'], order: number): boolean {
  if (operator === '=') return order === 0
  if (operator === '!=') return order !== 0
  return operator === '<' ? order < 0 : order > 0
}

export function textOrder(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

export function fieldOf(row: Item, field: string): unknown {
  if (Object.hasOwn(row, field)) return row[field]
  let value: unknown = row
  for (const part of field.split('.')) {
    if (Array.isArray(value)) return value.map((member) => fieldOf(member as Item, part))
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined
    value = (value as Item)[part]
  }
  return value
}
