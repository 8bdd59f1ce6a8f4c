/** Rows of a table as CSV (RFC 4180) and JSON. */

/** A list becomes one cell in CSV, with its values separated by spaces. Absent values are empty cells. */
export type ExportValue = string | number | boolean | null | undefined | readonly (string | number)[]

/** Values by column. Names carry their unit, as in `durationMs` and `sizeBytes`; values have no format of the page. */
export type ExportRow = Readonly<Record<string, ExportValue>>

export type ExportFormat = 'csv' | 'json'

const LINE_END = '\r\n'
/**
 * Where a spreadsheet would begin a formula: at the start of a text, and after characters that some spreadsheets take as
 * the end of a cell. The wide forms of the signs count too. Source: OWASP, "CSV Injection".
 */
const FORMULA_START = /^(?=[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20])|(?<=[;\t\r\n])(?=[=+\-@\uff1d\uff0b\uff0d\uff20])/g

export function formatRows(rows: readonly ExportRow[], format: ExportFormat): string {
  return format === 'csv' ? csvOf(rows) : jsonOf(rows)
}

/** Returns lines of equal numbers of cells below a line of column names. Columns are in the order of their first use. */
export function csvOf(rows: readonly ExportRow[]): string {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  const lines = [columns, ...rows.map((row) => columns.map((column) => row[column]))]
  return lines.map((cells) => cells.map(cellOf).join(',') + LINE_END).join('')
}

/** Returns an array of objects with the values as they are. */
export function jsonOf(rows: readonly ExportRow[]): string {
  return `${JSON.stringify(rows, undefined, 2)}\n`
}

/** Returns a name such as `manager-edge-nodes-20261122T201500Z.csv`. `at`: milliseconds since 1970. */
export function exportFileName(table: string, format: ExportFormat, at: number): string {
  const time = `${new Date(at).toISOString().slice(0, 19).replace(/[-:]/g, '')}Z`
  return `manager-edge-${table}-${time}.${format}`
}

/** Numbers stay numbers. Every text is in quotes, and an apostrophe before a formula makes the formula a text. */
function cellOf(value: ExportValue): string {
  if (value === undefined || value === null) return ''
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  const text = typeof value === 'string' ? value : value.join(' ')
  return `"${text.replace(FORMULA_START, "'").replaceAll('"', '""')}"`
}
