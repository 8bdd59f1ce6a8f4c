/** Values as the manager prints them in its error texts. */

/** Characters of a value of the client in an error text. The manager prints all of it. */
const MAX_PRINTED = 1000

/** As `printed`, for a value of the client, which may have megabytes: a long one is cut. */
export function printedStart(value: unknown): string {
  return cut(printed(value, MAX_PRINTED))
}

/** As `printedStart`, for a set of names of the client, without its braces. */
export function printedNames(names: readonly string[]): string {
  return cut(joined(names, MAX_PRINTED, printed))
}

function cut(text: string): string {
  return text.length > MAX_PRINTED ? `${text.slice(0, MAX_PRINTED)}…` : text
}

/**
 * Writes values as the manager's language prints them in its error texts: single quotes, `None`, `True`, members sorted by
 * name. Beyond `length` characters the text may end anywhere.
 */
export function printed(value: unknown, length = Number.POSITIVE_INFINITY): string {
  if (value === null || value === undefined) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (typeof value === 'string') return quoted(value.slice(0, length))
  if (Array.isArray(value)) return `[${joined(value, length, printed)}]`
  if (typeof value === 'object') {
    const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
    return `{${joined(members, length, ([name, each], left) => `${quoted(name.slice(0, left))}: ${printed(each, left)}`)}}`
  }
  return String(value)
}

/** Joins the texts of the items with commas, at least as many as have `length` characters. */
function joined<T>(items: readonly T[], length: number, textOf: (item: T, length: number) => string): string {
  let text = ''
  for (const [index, item] of items.entries()) {
    if (text.length > length) break
    text += (index === 0 ? '' : ', ') + textOf(item, length - text.length)
  }
  return text
}

const ESCAPES: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t', '\\': '\\\\' }

function quoted(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'"
  const escaped = text.replace(/[\u0000-\u001f\\\u007f]/g, (char) => ESCAPES[char] ?? hexOf(char))
  return quote + (quote === "'" ? escaped.replaceAll("'", "\\'") : escaped) + quote
}

function hexOf(char: string): string {
  return `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`
}
