/** Rows, the values in them, and how values are compared. */

/** An object, nested (agents: `os.version`) or flat (inventory: `scan_id`). Null, missing and `undefined` are equal. */
export type Row = Readonly<Record<string, unknown>>

/** An element of a collection: an object, or a text (lists of requirements and groups). */
export type Element = Row | string

/** Returns the value of a field, by its full name first, then along its dots into nested objects (`os.version`). */
export function fieldValue(element: Element, field: string): unknown {
  if (typeof element === 'string') return undefined
  if (Object.hasOwn(element, field)) return element[field] ?? undefined
  let value: unknown = element
  for (const part of field.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined
    value = (value as Record<string, unknown>)[part]
  }
  return value ?? undefined
}

/** Returns a number, or the number that a text consists of (`"003"` is 3); `undefined` for everything else. */
export function toNumber(value: unknown): number | undefined {
  if (typeof value === 'number') return value
  return typeof value === 'string' && /^ *-?[0-9]+(?:\.[0-9]+)? *$/.test(value) ? Number(value) : undefined
}

/**
 * Returns the number as which SQLite compares a text with a numeric column, unless it is none: as `toNumber`, and with an
 * exponent, a plus, or a point without digits on one side (`1e3`, `+5`, `5.`, `.5`).
 */
export function toDatabaseNumber(value: unknown): number | undefined {
  if (typeof value === 'number') return value
  return typeof value === 'string' && DATABASE_NUMBER.test(value) ? Number(value) : undefined
}

const DATABASE_NUMBER = /^ *[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]+)? *$/i

/** Returns what `CAST(text AS INTEGER)` is in SQLite: the digits at the beginning, else 0. */
export function castToInteger(value: unknown): number {
  return Number(/^\s*([+-]?[0-9]+)/.exec(toText(value))?.[1] ?? 0)
}

export function toText(value: unknown): string {
  if (typeof value === 'string') return value
  return Array.isArray(value)
    ? value.map(toText).join(',')
    : typeof value === 'object'
      ? JSON.stringify(value)
      : String(value)
}

/** What a value is sorted as: missing values first, then numbers, then texts as their `codePointKey`. */
export type SortValue = undefined | number | string

export function compareSortValues(a: SortValue, b: SortValue): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b
  if (typeof a === 'string' && typeof b === 'string') return a < b ? -1 : a > b ? 1 : 0
  return rank(a) - rank(b)
}

function rank(value: SortValue): number {
  return value === undefined ? 0 : typeof value === 'number' ? 1 : 2
}

/**
 * Returns a text whose UTF-16 code units sort as the code points of `text` do, which is how SQLite and Python compare
 * texts. Surrogate pairs have lower code units than U+E000 to U+FFFF, so each pair is moved behind U+FFFF. Equal keys
 * mean equal texts. Most texts contain neither and are returned unchanged.
 */
export function codePointKey(text: string): string {
  if (!LEAD_SURROGATE_OR_FFFF.test(text)) return text
  return text.replace(PAIR_OR_FFFF, (found) => (found === '\uffff' ? '\uffff\0' : `\uffff${found}`))
}

const LEAD_SURROGATE_OR_FFFF = /[\ud800-\udbff\uffff]/
const PAIR_OR_FFFF = /[\ud800-\udbff][\udc00-\udfff]|\uffff/g

/** Compares two texts by code points, independent of the locale. */
export function compareText(a: string, b: string): number {
  return compareSortValues(codePointKey(a), codePointKey(b))
}

/** Returns a case-insensitive substring test. */
export function createSubstringMatcher(text: string): (value: string) => boolean {
  const wanted = text.toLowerCase()
  return (value) => value.toLowerCase().includes(wanted)
}

/**
 * Returns the test of `LIKE '%text%'` in SQL: `%` matches any characters, `_` matches one, which may be a surrogate pair;
 * case is ignored.
 */
export function createLikeMatcher(text: string): (value: string) => boolean {
  if (!/[%_]/.test(text)) return createSubstringMatcher(text)
  const parts = text
    .toLowerCase()
    .split('%')
    .filter((part) => part !== '')
    .map(charactersOf)
  return (value) => {
    let from = 0
    const searched = charactersOf(value.toLowerCase())
    return parts.every((part) => {
      const at = indexOfPart(searched, part, from)
      from = at + part.length
      return at >= 0
    })
  }
}

/** Most texts have no surrogate pairs and are their own characters. */
function charactersOf(text: string): ArrayLike<string> {
  return /[\ud800-\udbff]/.test(text) ? Array.from(text) : text
}

/** Returns the first match of a part, in which `_` matches any character. Later matches never allow more. */
function indexOfPart(value: ArrayLike<string>, part: ArrayLike<string>, from: number): number {
  for (let at = from; at + part.length <= value.length; at++) {
    let matched = 0
    while (matched < part.length && (part[matched] === '_' || part[matched] === value[at + matched])) matched++
    if (matched === part.length) return at
  }
  return -1
}
