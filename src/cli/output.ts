/** What commands print: tables, JSON, findings, colours of a terminal, and one line of progress. */
import { styleText } from 'node:util'
import { isObject } from '../core/values.ts'
import { print } from './terminal.ts'

/** `align`: numbers are aligned right. */
export interface Column<Row> {
  readonly title: string
  readonly cell: (row: Row) => string | number
}

/** Returns rows as an aligned table: a line of column titles, then one line per row. Ends with a line feed. */
export function formatTable<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string {
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

export function printTable<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): void {
  process.stdout.write(formatTable(columns, rows))
}

export function printJson(value: unknown): void {
  print(JSON.stringify(value, null, 2))
}

/** Members of the console API whose values are milliseconds, and that have no unit in their name. */
const MILLISECONDS = ['age', 'ago', 'ejectedFor', 'endsIn', 'nodeTime', 'p50', 'p99', 'time', 'timeLeft']

/** Prints what the edge has reported, with units in the names, as in the files that the console exports: `ageMs`. */
export function printMeasured(value: unknown): void {
  printJson(withUnits(value))
}

function withUnits(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withUnits)
  if (!isObject(value)) return value
  const members = Object.entries(value).map(([name, member]) => {
    const isTime = typeof member === 'number' && MILLISECONDS.includes(name)
    return [isTime ? `${name}Ms` : name.replace('savedPer', 'savedMsPer'), withUnits(member)]
  })
  return Object.fromEntries(members)
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

type Style = 'red' | 'yellow' | 'green' | 'bold' | 'dim'

/** Colours the text in a terminal, unless NO_COLOR is set (no-color.org). */
export function coloured(style: Style, text: string): string {
  const { NO_COLOR, TERM } = process.env
  const isPlain = process.stdout.isTTY !== true || (NO_COLOR !== undefined && NO_COLOR !== '') || TERM === 'dumb'
  return isPlain ? text : styleText(style, text, { validateStream: false })
}

/** Returns as much of a text without colours as a screen shows: no line is wrapped, and none scrolls out at the top. */
export function cutToScreen(
  text: string,
  { columns, rows }: { readonly columns: number; readonly rows: number },
): string {
  return text
    .trimEnd()
    .split('\n')
    .slice(0, rows)
    .map((line) => line.slice(0, columns))
    .join('\n')
}

const BAR_WIDTH = 20

/** One line of progress, on standard error of a terminal only: a pipe or a log gets none. */
export function createProgressLine() {
  const stream = process.stderr
  const isTerminal = stream.isTTY === true
  let isShown = false
  const show = (text: string): void => {
    if (!isTerminal) return
    isShown = true
    stream.write(`\r\x1b[K${text.slice(0, Math.max(20, (stream.columns ?? 80) - 1))}`)
  }
  return {
    show,
    showPart: (done: number, total: number, text: string): void => {
      const filled = total === 0 ? BAR_WIDTH : Math.round((done / total) * BAR_WIDTH)
      show(`[${'#'.repeat(filled)}${'.'.repeat(BAR_WIDTH - filled)}] ${done}/${total} ${text}`)
    },
    /** Removes the line, before something else is printed. */
    clear: (): void => {
      if (isShown) stream.write('\r\x1b[K')
      isShown = false
    },
  }
}

/** Returns a time in the unit that a reader wants: `850 ms`, `12 s`, `5 min`, `3 h`, `2 d`. */
export function formatTime(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  const units = [
    [86_400_000, 'd'],
    [3_600_000, 'h'],
    [60_000, 'min'],
  ] as const
  const [size, unit] = units.find(([each]) => ms >= 2 * each) ?? [1000, 's']
  return `${Math.round(ms / size)} ${unit}`
}

export function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB']
  const at = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10))
  return `${at === 0 ? bytes : (bytes / 1024 ** at).toFixed(1)} ${units[at]}`
}
