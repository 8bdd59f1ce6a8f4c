/** Reading fields of objects whose keys come from outside: a name that every object inherits is never found. */

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
