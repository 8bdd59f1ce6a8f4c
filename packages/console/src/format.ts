/** Numbers, sizes and durations as text. */
const wholeNumber = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })
const oneDecimal = new Intl.NumberFormat('en', { maximumFractionDigits: 1 })
const twoDigits = new Intl.NumberFormat('en', { maximumSignificantDigits: 2 })

export const NONE = '–'

const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

export function formatCount(value: number): string {
  return wholeNumber.format(value)
}

export function formatRate(value: number): string {
  if (value === 0) return '0'
  return value < 10 ? twoDigits.format(value) : wholeNumber.format(value)
}

/** `workers`: seconds of node time saved per second. A worker that is always busy spends one second per second. */
export function formatWorkers(workers: number): string {
  if (workers === 0) return '0 workers'
  if (workers < 0.01) return '< 0.01 workers'
  const count = formatRate(workers)
  return `≈ ${count} ${count === '1' ? 'worker' : 'workers'}`
}

export function formatPercent(share: number | undefined | null): string {
  if (share === undefined || share === null) return NONE
  return `${share > 0.999 && share < 1 ? '99.9' : oneDecimal.format(share * 100)} %`
}

export function formatBytes(value: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
  const step = value < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(value) / 10))
  return `${oneDecimal.format(value / 1024 ** step)} ${units[step]}`
}

/** Returns milliseconds in a suitable unit, such as `320 ms` or `2 h 5 min`. */
export function formatDuration(ms: number | undefined | null): string {
  if (ms === undefined || ms === null) return NONE
  if (ms < 0) return `−${formatDuration(-ms)}`
  if (ms < 1) return `${twoDigits.format(ms)} ms`
  if (ms < 1000) return `${ms < 10 ? oneDecimal.format(ms) : wholeNumber.format(ms)} ms`
  if (ms < MINUTE_MS) return `${oneDecimal.format(ms / SECOND_MS)} s`
  if (ms < HOUR_MS) return formatTwoUnits(ms, [MINUTE_MS, 'min'], [SECOND_MS, 's'])
  if (ms < DAY_MS) return formatTwoUnits(ms, [HOUR_MS, 'h'], [MINUTE_MS, 'min'])
  return formatTwoUnits(ms, [DAY_MS, 'd'], [HOUR_MS, 'h'])
}

/** Returns the time until a stored response ends. One that has ended may be listed for a moment. */
export function formatTimeLeft(ms: number): string {
  return ms < 0 ? 'expired' : formatDuration(ms)
}

/** Returns the age in whole seconds. */
export function formatAge(ms: number): string {
  return formatDuration(Math.floor(ms / SECOND_MS) * SECOND_MS)
}

type Unit = readonly [ms: number, name: string]

function formatTwoUnits(ms: number, [unitMs, unit]: Unit, [smallerMs, smaller]: Unit): string {
  const first = Math.floor(ms / unitMs)
  const rest = Math.floor((ms % unitMs) / smallerMs)
  return rest === 0 ? `${first} ${unit}` : `${first} ${unit} ${rest} ${smaller}`
}

/** Returns words for a URL of the index: after `#` is `*` for a snapshot, or the node whose part of a joined response it is. */
export function formatStoredUrl(url: string): string {
  const [path = '', part] = url.split('#')
  return part === undefined ? url : `${path} · ${part === '*' ? 'all rows' : `part of ${part}`}`
}

export function formatClock(at: number): string {
  return new Date(at).toTimeString().slice(0, 8)
}

/** Returns the day in the time zone of the browser, as `formatClock` does. */
export function formatDay(at: number): string {
  return new Date(at).toLocaleDateString('sv')
}

/** Returns the text with a capital first letter. */
export function capitalise(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`
}
