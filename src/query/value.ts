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

/**
 * Returns a text whose UTF-16 code units sort as the code points of `text` do, which is how SQLite and Python compare
 * texts. Surrogate pairs have lower code units than U+E000 to U+FFFF, so each pair is moved behind U+FFFF. Equal keys
 * mean equal texts. Most texts have neither and are returned as they are.
 */
export function codePointKey(text: string): string {
  if (!SORTS_OTHERWISE.test(text)) return text
  return text.replace(PAIR_OR_LAST, (found) => (found === '\uffff' ? '\uffff\0' : `\uffff${found}`))
}

const SORTS_OTHERWISE = /[\ud800-\udbff\uffff]/
const PAIR_OR_LAST = /[\ud800-\udbff][\udc00-\udfff]|\uffff/g

/** Compares two texts by code points, never by the language of the machine. */
export function compareText(a: string, b: string): number {
  return compareKeys(codePointKey(a), codePointKey(b))
}

/** A total order over everything that a field can hold: missing, then numbers, then texts (as their `codePointKey`). */
export type Key = undefined | number | string

export function compareKeys(a: Key, b: Key): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b
  if (typeof a === 'string' && typeof b === 'string') return a < b ? -1 : a > b ? 1 : 0
  return rank(a) - rank(b)
}

function rank(key: Key): number {
  return key === undefined ? 0 : typeof key === 'number' ? 1 : 2
}

/**
 * What a collection is asked over and with: values only. A source is described as data, so that one
 * algorithm serves every collection of the manager (contract/semantics.md section 2).
 */

/** An object, nested (agents: `os.version`) or flat (inventory: `scan_id`). Missing and `undefined` are the same. */
export type Row = Readonly<Record<string, unknown>>

/** An element of a collection: an object, or a text (catalogues of requirements and groups). */
export type Element = Row | string

export function includes(text: string): (value: string) => boolean {
  const wanted = text.toLowerCase()
  return (value) => value.toLowerCase().includes(wanted)
}

/** SQL's LIKE '%text%': `%` in the text stands for any characters, `_` for one; case does not count. */
export function like(text: string): (value: string) => boolean {
  if (!/[%_]/.test(text)) return includes(text)
  const parts = text
    .toLowerCase()
    .split('%')
    .filter((part) => part !== '')
  return (value) => {
    let from = 0
    const within = value.toLowerCase()
    return parts.every((part) => {
      const at = indexOf(within, part, from)
      from = at + part.length
      return at >= 0
    })
  }
}

/** The first place of a part, in which `_` fits any character. Taking the first is right, as parts only need their order. */
function indexOf(value: string, part: string, from: number): number {
  for (let at = from; at + part.length <= value.length; at++) {
    let fits = 0
    while (fits < part.length && (part[fits] === '_' || part[fits] === value[at + fits])) fits++
    if (fits === part.length) return at
  }
  return -1
}
