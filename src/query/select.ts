import { CollectionError } from './request.ts'
import type { Source } from './sources.ts'
import type { Element, Row } from './value.ts'
import { valueAt } from './value.ts'

/**
 * How an element leaves the collection: only the fields that `select` names (dotted ones nested), hidden
 * fields never, flat inventory rows nested. Fields without a value are left out. Throws 1724 for an unknown
 * field, and 1000 where the manager fails on any `select`.
 */
export function readShape(select: string | undefined, source: Source): (element: Element) => Element {
  const leave = source.engine === 'database' ? leaving(source.hidden ?? [], source.nested) : same
  if (select === undefined) return leave
  const known = source.engine === 'database' ? Object.keys(source.fields) : source.selectable
  if (!known) throw new CollectionError(1000)
  const asked = select.split(',')
  if (asked.some((field) => !known.includes(field))) throw new CollectionError(1724)
  const always = source.engine === 'database' ? (source.always ?? []) : []
  const fields = [...new Set([...always, ...asked])]
  return (element) => leave(typeof element === 'string' ? element : pick(element, fields))
}

function same(element: Element): Element {
  return element
}

function leaving(hidden: readonly string[], nested: true | undefined): (element: Element) => Element {
  return (element) => {
    if (typeof element === 'string') return element
    const shown = hidden.some((field) => Object.hasOwn(element, field)) ? without(element, hidden) : element
    return nested ? nest(shown) : shown
  }
}

function without(row: Row, fields: readonly string[]): Row {
  return Object.fromEntries(Object.entries(row).filter(([name]) => !fields.includes(name)))
}

/** A new row of the named fields; `os.name` and `os.version` share one object. */
export function pick(row: Row, fields: readonly string[]): Row {
  const picked: Record<string, unknown> = {}
  for (const field of fields) {
    const value = valueAt(row, field)
    if (value !== undefined) put(picked, Object.hasOwn(row, field) ? [field] : field.split('.'), value)
  }
  return picked
}

function put(into: Record<string, unknown>, way: readonly string[], value: unknown): void {
  const [name = '', ...rest] = way
  if (rest.length === 0) {
    into[name] = value
    return
  }
  const inner = (into[name] ?? {}) as Record<string, unknown>
  into[name] = inner
  put(inner, rest, value)
}

/** Columns with these prefixes are parts of an object, even a single one. */
const ALWAYS: ReadonlySet<string> = new Set(['scan', 'os', 'ram', 'cpu', 'local', 'remote'])
/** Columns with these are only when two parts at least are there, so that `select=tx_packets` stays flat. */
const WHEN_SEVERAL: ReadonlySet<string> = new Set(['rx', 'tx'])

/**
 * Nests a flat inventory row as the manager answers it: `scan_id` and `scan_time` become `scan: {id, time}`.
 * Nested objects come first, by name, then the flat fields in their own order.
 */
export function nest(row: Row): Row {
  const nested: Record<string, Record<string, unknown>> = {}
  const flat: [string, unknown][] = []
  for (const [name, value] of Object.entries(row)) {
    if (value === undefined || value === null) continue
    const [prefix, part] = splitName(name)
    if (part === undefined || !(ALWAYS.has(prefix) || severalOf(prefix, row))) flat.push([name, value])
    else nested[prefix] = { ...nested[prefix], [part]: value }
  }
  return Object.fromEntries([...Object.entries(nested).sort(([a], [b]) => (a < b ? -1 : 1)), ...flat])
}

/** Where the value of a flat name may stand once its row was nested (`scan_id`: `scan`, `id`). */
export function nestedName(name: string): readonly [outer: string, inner: string] | undefined {
  const [prefix, part] = splitName(name)
  return part !== undefined && (ALWAYS.has(prefix) || WHEN_SEVERAL.has(prefix)) ? [prefix, part] : undefined
}

/** The flat row of a nested one. */
export function flatten(row: Row): Row {
  const flat: [string, unknown][] = Object.entries(row).flatMap(([name, value]) => {
    const parts = ALWAYS.has(name) || WHEN_SEVERAL.has(name) ? value : undefined
    if (typeof parts !== 'object' || parts === null || Array.isArray(parts)) return [[name, value]]
    return Object.entries(parts).map(([part, inner]): [string, unknown] => [`${name}_${part}`, inner])
  })
  return Object.fromEntries(flat)
}

function splitName(name: string): [prefix: string, part: string | undefined] {
  const at = name.indexOf('_')
  return at < 0 ? [name, undefined] : [name.slice(0, at), name.slice(at + 1)]
}

function severalOf(prefix: string, row: Row): boolean {
  if (!WHEN_SEVERAL.has(prefix)) return false
  return Object.keys(row).filter((name) => name.startsWith(`${prefix}_`) && row[name] !== undefined).length > 1
}
