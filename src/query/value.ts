import type { Element } from './source.ts'

/** The value of a field: its own name first, then as a way into nested objects (`os.version`). */
export function valueAt(element: Element, field: string): unknown {
  if (typeof element === 'string') return undefined
  if (Object.hasOwn(element, field)) return present(element[field])
  let value: unknown = element
  for (const part of field.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined
    value = (value as Record<string, unknown>)[part]
  }
  return present(value)
}

/** The entry of that very name; a name that every object inherits (`constructor`) is none. */
export function entry<T>(record: Readonly<Record<string, T>> | undefined, name: string): T | undefined {
  return record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined
}

/** JSON's null and an absent value say the same. */
function present(value: unknown): unknown {
  return value === null ? undefined : value
}

/** The number that a value is or writes (`"003"` is 3); `undefined` where it is none. */
export function asNumber(value: unknown): number | undefined {
  if (typeof value === 'number') return value
  return typeof value === 'string' && /^ *-?[0-9]+(?:\.[0-9]+)? *$/.test(value) ? Number(value) : undefined
}

export function asText(value: unknown): string {
  if (typeof value === 'string') return value
  return Array.isArray(value)
    ? value.map(asText).join(',')
    : typeof value === 'object'
      ? JSON.stringify(value)
      : String(value)
}

/** Compares two texts by their characters' numbers, never by the language of the machine. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** A total order over everything that a field can hold: missing, then numbers, then texts. */
export type Key = undefined | number | string

export function compareKeys(a: Key, b: Key): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b
  if (typeof a === 'string' && typeof b === 'string') return compareText(a, b)
  return rank(a) - rank(b)
}

function rank(key: Key): number {
  return key === undefined ? 0 : typeof key === 'number' ? 1 : 2
}
