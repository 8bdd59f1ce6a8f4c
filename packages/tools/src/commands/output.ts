/** What commands print in a terminal: colours, one line of progress, values with their units. */
import { styleText } from 'node:util'
import { printJson } from '../../../../src/cli/output.ts'
import { isObject } from '../../../../src/core/values.ts'

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
