/** Rows, and the values in them: as numbers, as texts, and the search within them. */

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

/** Returns the text as tables of words have it: in lower case, without spaces. */
export function wordOf(text: string): string {
  return text.toLowerCase().replaceAll(' ', '')
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
