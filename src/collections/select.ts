/** How elements leave a collection: `select`, hidden fields, and the nesting of flat inventory rows. */
import { inventoryObjects } from '../contracts/v3/inventories.ts'
import { CollectionError } from './request.ts'
import type { Source } from './sources.ts'
import { type Element, fieldValue, type Row } from './value.ts'

/**
 * Returns the function that reduces an element to the fields of `select` (dotted ones nested), removes hidden fields and
 * nests flat inventory rows. Fields without a value are left out. Throws CollectionError 1724 (unknown field), and 1000
 * where the manager fails on any `select`.
 */
export function compileProjection(select: string | undefined, source: Source): (element: Element) => Element {
  const finish =
    source.engine === 'database' ? createFinisher(source.hidden ?? [], source.nested) : (element: Element) => element
  if (select === undefined) return finish
  const known = source.engine === 'database' ? Object.keys(source.fields) : source.selectable
  if (!known) throw new CollectionError(1000)
  const ignored = source.engine === 'database' ? (source.ignoredInSelect ?? []) : []
  const selected = select.split(',').filter((field) => !ignored.includes(field))
  if (selected.some((field) => !known.includes(field))) throw new CollectionError(1724)
  const fields = [...new Set([...(source.alwaysSelected ?? []), ...selected])]
  return (element) => finish(typeof element === 'string' ? element : pickFields(element, fields))
}

function createFinisher(hidden: readonly string[], nested: true | undefined): (element: Element) => Element {
  return (element) => {
    if (typeof element === 'string') return element
    const shown = hidden.some((field) => Object.hasOwn(element, field)) ? omitFields(element, hidden) : element
    return nested ? nestRow(shown) : shown
  }
}

function omitFields(row: Row, fields: readonly string[]): Row {
  return Object.fromEntries(Object.entries(row).filter(([name]) => !fields.includes(name)))
}

/** Returns a new row with the named fields; `os.name` and `os.version` share one nested object. */
export function pickFields(row: Row, fields: readonly string[]): Row {
  const picked: Record<string, unknown> = {}
  for (const field of fields) {
    const value = fieldValue(row, field)
    if (value !== undefined) setAt(picked, Object.hasOwn(row, field) ? [field] : field.split('.'), value)
  }
  return picked
}

function setAt(into: Record<string, unknown>, path: readonly string[], value: unknown): void {
  const [name = '', ...rest] = path
  if (rest.length === 0) {
    into[name] = value
    return
  }
  const inner = (into[name] ?? {}) as Record<string, unknown>
  into[name] = inner
  setAt(inner, rest, value)
}

/**
 * Columns begin with the name of their object. Those of these objects are nested only if the row has at least two, so
 * `select=tx_packets` stays flat.
 */
const COUNTER_PREFIXES: ReadonlySet<string> = new Set(['rx', 'tx'])

/**
 * Returns a flat inventory row in the nested form of the API: `scan_id` and `scan_time` become `scan: {id, time}`.
 * Nested objects come first, by name, then the flat fields in their own order.
 */
export function nestRow(row: Row): Row {
  const nested: Record<string, Record<string, unknown>> = {}
  const flat: [string, unknown][] = []
  for (const [name, value] of Object.entries(row)) {
    if (value === undefined || value === null) continue
    const path = nestedPath(name, row)
    if (path === undefined) flat.push([name, value])
    else nested[path[0]] = { ...nested[path[0]], [path[1]]: value }
  }
  return Object.fromEntries([...Object.entries(nested).sort(([a], [b]) => (a < b ? -1 : 1)), ...flat])
}

/** Returns the path that a member of this flat row has in the nested row; undefined: the member stays flat. */
function nestedPath(name: string, row: Row): readonly [outer: string, inner: string] | undefined {
  const [prefix, part] = splitName(name)
  const isNested = COUNTER_PREFIXES.has(prefix) ? hasSeveralCounters(prefix, row) : inventoryObjects.has(prefix)
  return part !== undefined && isNested ? [prefix, part] : undefined
}

/** Returns the path that a flat name may have in a nested row: `scan_id` becomes `scan`, `id`. */
export function splitNestedName(name: string): readonly [outer: string, inner: string] | undefined {
  const [prefix, part] = splitName(name)
  return part !== undefined && inventoryObjects.has(prefix) ? [prefix, part] : undefined
}

export function flattenRow(row: Row): Row {
  const flat: [string, unknown][] = Object.entries(row).flatMap(([name, value]) => {
    const parts = inventoryObjects.has(name) ? value : undefined
    if (typeof parts !== 'object' || parts === null || Array.isArray(parts)) return [[name, value]]
    return Object.entries(parts).map(([part, inner]): [string, unknown] => [`${name}_${part}`, inner])
  })
  return Object.fromEntries(flat)
}

function splitName(name: string): [prefix: string, part: string | undefined] {
  const at = name.indexOf('_')
  return at < 0 ? [name, undefined] : [name.slice(0, at), name.slice(at + 1)]
}

function hasSeveralCounters(prefix: string, row: Row): boolean {
  return Object.keys(row).filter((name) => name.startsWith(`${prefix}_`) && row[name] !== undefined).length > 1
}
