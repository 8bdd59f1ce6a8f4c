import { CollectionError } from './error.ts'
import { nest } from './nest.ts'
import type { Element, Row, Source } from './source.ts'
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
