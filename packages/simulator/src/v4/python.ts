/** Writes values as the API's language does. */
export function repr(value: unknown): string {
  if (typeof value === 'string') {
    const quote = value.includes("'") && !value.includes('"') ? '"' : "'"
    const escaped = value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
    return quote + (quote === "'" ? escaped.replaceAll("'", "\\'") : escaped) + quote
  }
  if (value === null || value === undefined) return 'None'
  if (value === true) return 'True'
  if (value === false) return 'False'
  if (Array.isArray(value)) return `[${value.map(repr).join(', ')}]`
  if (typeof value === 'object') {
    const entries = Object.entries(value).map(([name, inner]) => `${repr(name)}: ${repr(inner)}`)
    return `{${entries.join(', ')}}`
  }
  return String(value)
}
