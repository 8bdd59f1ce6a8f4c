/** What commands print: tables, JSON and findings. */
import { print } from './terminal.ts'

/** `align`: numbers are aligned right. */
export interface TextColumn<Row> {
  readonly title: string
  readonly cell: (row: Row) => string | number
}

/** Returns rows as an aligned table: a line of column titles, then one line per row. Ends with a line feed. */
export function formatTable<Row>(columns: readonly TextColumn<Row>[], rows: readonly Row[]): string {
  const cells = rows.map((row) => columns.map(({ cell }) => cell(row)))
  const isNumeric = columns.map((_, at) => cells.length > 0 && cells.every((line) => typeof line[at] === 'number'))
  const lines = [columns.map(({ title }) => title), ...cells.map((line) => line.map((cell) => singleLine(`${cell}`)))]
  const widths = columns.map((_, at) => Math.max(...lines.map((line) => line[at]?.length ?? 0)))
  const pad = (cell: string, at: number) =>
    isNumeric[at] ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0)
  return lines.map((line) => `${line.map(pad).join('  ').trimEnd()}\n`).join('')
}

/** A name may come from a client. Control characters would move the cursor of the terminal. */
export function singleLine(text: string): string {
  return text.replace(/\p{Cc}/gu, (char) => `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`)
}

export function printTable<Row>(columns: readonly TextColumn<Row>[], rows: readonly Row[]): void {
  process.stdout.write(formatTable(columns, rows))
}

export function printJson(value: unknown): void {
  print(JSON.stringify(value, null, 2))
}

/** What `check --connect` and `doctor` have found about one part of the surroundings. */
export interface Finding {
  readonly check: string
  readonly status: 'ok' | 'warning' | 'failed'
  readonly text: string
  /** A command, or a setting. */
  readonly fix?: string
}

/** `reason` has the form of messages for operators: the cause, and after the first "; " what to do. */
export function failure(check: string, reason: string): Finding {
  const [text = reason, fix] = reason.split(/; (.*)/s)
  return { check, status: 'failed', text, ...(fix !== undefined && { fix }) }
}

/** Returns the line that `check --connect` prints. */
export function describeFinding({ check, status, text, fix }: Finding): string {
  const start = { ok: check, warning: 'warning', failed: `${check}: failed` }[status]
  return `${start}: ${text}${fix === undefined ? '' : `; ${fix}`}`
}
