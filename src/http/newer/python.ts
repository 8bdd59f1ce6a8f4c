/** Writes values as the manager's language prints them in its error texts: single quotes, `None`, `True`, members sorted by name. */
export function printed(value: unknown): string {
  if (value === null || value === undefined) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (typeof value === 'string') return quoted(value)
  if (Array.isArray(value)) return `[${value.map(printed).join(', ')}]`
  if (typeof value === 'object') {
    const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
    return `{${members.map(([name, each]) => `${quoted(name)}: ${printed(each)}`).join(', ')}}`
  }
  return String(value)
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
