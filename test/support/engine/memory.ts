/**
 * The collections that a manager computes from lists in memory: filters, then search, `q`, sort and page, each as its
 * framework does it, exceptions included (error 1000).
 */
import type { Collection } from './arrays.ts'
import {
  EngineError,
  type EngineItem,
  type EngineRow,
  type Outcome,
  parseSearch,
  parseSort,
  Undetermined,
} from './outcome.ts'

type Query = Readonly<Record<string, string>>

/** Throws EngineError and Undetermined. */
export function answerFromMemory(rows: readonly EngineItem[], query: Query, collection: Collection): Outcome {
  const { offset = '0', limit = '500', sort, search, select, q, ...filters } = query
  if (Number(limit) === 0) throw new EngineError(1406)
  if (Number(limit) > 1000 && !collection.cutsFirst) throw new EngineError(1405)
  let found = rows.filter((row) => Object.entries(filters).every((each) => passes(row, each, collection)))
  if (select !== undefined) found = found.map((row) => cut(row, select, collection))
  const [from, to] = [Number(offset), Number(offset) + Number(limit)]
  if (collection.cutsFirst) found = found.slice(from)
  if (search !== undefined) found = searched(found, search, collection)
  // The nodes are searched and sorted by the cluster, and filtered by the framework afterwards.
  if (select !== undefined) found = sorted(found, sort, collection)
  if (q !== undefined) {
    if (collection.cells === undefined) throw new EngineError(1000)
    found = found.filter((row) => holds(row, q))
  }
  if (select === undefined) found = sorted(found, sort, collection)
  if (collection.cutsFirst) {
    const items = found.slice(0, Number(limit))
    return { kind: 'page', items, totalItems: items.length }
  }
  return { kind: 'page', items: found.slice(from, to), totalItems: found.length }
}

function passes(row: EngineItem, [name, value]: readonly [string, string], { parameters = {} }: Collection): boolean {
  const { field = name, values, code = 0, everything, range } = parameters[name] ?? {}
  if (value === everything) return true
  if (values && !values.includes(value)) throw new EngineError(code)
  const cell = typeof row === 'string' ? row : row[field]
  if (range) {
    const [from = '', to = from] = value.split('-')
    return Number(cell) >= Number(from) && Number(cell) <= Number(to)
  }
  return Array.isArray(cell) ? cell.includes(value) : cell === value
}

function cut(row: EngineItem, select: string, { selectable }: Collection): EngineItem {
  const names = select.split(',').map((name) => name.trim())
  if (selectable === undefined) throw new EngineError(1000)
  if (names.some((name) => !selectable.includes(name))) throw new EngineError(1724)
  return Object.fromEntries(Object.entries(row).filter(([name]) => names.includes(name)))
}

function searched(rows: readonly EngineItem[], search: string, { searchable }: Collection): EngineItem[] {
  const { negated, text } = parseSearch(search)
  const wanted = text.toLowerCase()
  return rows.filter((row) => printedValues(row, searchable).some((value) => value.includes(wanted)) !== negated)
}

/** Only texts are lowered; everything else is printed as Python prints it. */
function printedValues(value: unknown, fields?: readonly string[]): string[] {
  if (typeof value === 'string') return [value.toLowerCase()]
  if (value === null || value === undefined) return ['None']
  if (typeof value === 'boolean') return [value ? 'True' : 'False']
  if (typeof value !== 'object') return [String(value)]
  if (Array.isArray(value)) return value.flatMap((each) => printedValues(each))
  const members = Object.entries(value).filter(([name]) => fields === undefined || fields.includes(name))
  return members.flatMap(([, each]) => printedValues(each))
}

function holds(row: EngineItem, q: string): boolean {
  if (q.includes('(') || q.includes(')')) throw new EngineError(1000)
  return q.split(',').some((clause) => clause.split(';').every((condition) => holdsCondition(row, condition)))
}

/** A value ends at its first space. Fields are members of the row itself. */
function holdsCondition(row: EngineItem, condition: string): boolean {
  const [, field = '', operator = '', text = ''] = /^([\w.-]+?)(!=|=|<|>|~)([^ ]*)/.exec(condition) ?? []
  if (field.includes('.')) throw new Undetermined('the name of a field with a dot in a list')
  if (text === '') throw new Undetermined('a value that begins with a space in a list')
  if (typeof row === 'string') throw new EngineError(1000)
  if (!Object.hasOwn(row, field)) return false
  const cell = row[field]
  if (operator === '~') return beginsWith(cell, text)
  if (typeof cell === 'number') {
    if (!/^[+-]?\d+$/.test(text) || !Number.isInteger(cell)) throw new EngineError(1000)
    return isTrue(operator, cell - Number(text))
  }
  if (typeof cell === 'string') return isTrue(operator, byCodePoints(cell, text))
  if (operator === '=') return false
  if (operator === '!=') return true
  throw new EngineError(1000)
}

function beginsWith(cell: unknown, text: string): boolean {
  if (typeof cell === 'number') throw new Undetermined('~ on a number in a list')
  if (typeof cell !== 'string') throw new EngineError(1000)
  return cell.startsWith(text)
}

function isTrue(operator: string, difference: number): boolean {
  if (operator === '=') return difference === 0
  if (operator === '!=') return difference !== 0
  return operator === '<' ? difference < 0 : difference > 0
}

/** An empty list is not sorted, and its sort is not checked. */
function sorted(rows: readonly EngineItem[], sort: string | undefined, collection: Collection): EngineItem[] {
  const [first] = rows
  if (first === undefined) return []
  const { order, sortable } = collection
  if (sort === undefined) return order === undefined ? [...rows] : inOrder(rows, order, collection.descending ? -1 : 1)
  const { descending, fields } = parseSort(sort)
  const sign = descending ? -1 : 1
  if (sortable && fields.some((field) => !sortable.includes(field))) throw new EngineError(1403)
  if (typeof first === 'string') {
    if (fields.length > 0) throw new Undetermined('a field for a sort of texts')
    return [...rows].sort((a, b) => sign * byCodePoints(String(a), String(b)))
  }
  if (fields.length === 0) throw new EngineError(1404)
  if (fields.some((field) => !Object.hasOwn(first, field))) throw new EngineError(1403)
  return [...rows].sort((a, b) => sign * byFields(a as EngineRow, b as EngineRow, fields))
}

function inOrder(rows: readonly EngineItem[], order: readonly string[], sign: 1 | -1): EngineItem[] {
  return [...rows].sort((a, b) => {
    if (typeof a === 'string' || typeof b === 'string') return byCodePoints(String(a), String(b))
    return sign * byFields(a, b, order)
  })
}

/** Tuples of texts in lower case and of numbers. Values of different types have no order. */
function byFields(a: EngineRow, b: EngineRow, fields: readonly string[]): number {
  for (const field of fields) {
    const [left, right] = [lowered(a[field]), lowered(b[field])]
    if (left === right) continue
    if (typeof left !== typeof right || left === null || right === null || typeof left === 'object')
      throw new EngineError(1000)
    return typeof left === 'number' ? left - Number(right) : byCodePoints(String(left), String(right))
  }
  return 0
}

function lowered(value: unknown): unknown {
  return typeof value === 'string' ? value.toLowerCase() : (value ?? null)
}

function byCodePoints(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}
