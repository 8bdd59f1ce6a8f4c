/** Pure functions over values that come from outside, or go there. */

/** Returns the value of a JSON text that comes from outside; `undefined` if it is none. */
export function parseJson(text: Buffer | string): unknown {
  try {
    return JSON.parse(text.toString())
  } catch {
    return undefined
  }
}

/** Returns the record's own entry, never an inherited one such as `constructor`. */
export function ownEntry<T>(record: Readonly<Record<string, T>> | undefined, name: string): T | undefined {
  return record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined
}

/** Returns the own field of a value of unknown type, such as parsed JSON; `undefined` if the value is no object. */
export function ownField(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
  return (value as Readonly<Record<string, unknown>>)[name]
}

/** As `ownField`, for text only. */
export function ownText(value: unknown, name: string): string | undefined {
  const found = ownField(value, name)
  return typeof found === 'string' ? found : undefined
}

/** RFC 9651 section 3.3.4: a token begins with a letter or an asterisk. */
const TOKEN = /^[A-Za-z*][A-Za-z0-9!#$%&'*+.^_`|~:/-]*$/

/**
 * Serialises an item of a structured field (RFC 9651): as a token if the text is one, else as a quoted string. A string
 * holds printable ASCII only (section 3.3.3), so every other UTF-16 unit becomes `?`.
 */
export function serializeItem(text: string): string {
  return TOKEN.test(text) ? text : `"${text.replaceAll(/[^\x20-\x7e]/g, '?').replaceAll(/["\\]/g, '\\$&')}"`
}

/** Returns a header as one text; Node returns a list for some headers that are sent several times. */
export function headerText(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(',') : header
}
