/** Numbers, sizes and durations as text. */
const wholeNumber = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })
const oneDecimal = new Intl.NumberFormat('en', { maximumFractionDigits: 1 })
const twoDigits = new Intl.NumberFormat('en', { maximumSignificantDigits: 2 })

export const NONE = '–'

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
  if (ms < 60_000) return `${oneDecimal.format(ms / 1000)} s`
  if (ms < 3_600_000) return formatTwoUnits(ms / 60_000, 'min', 60, 's')
  if (ms < 86_400_000) return formatTwoUnits(ms / 3_600_000, 'h', 60, 'min')
  return formatTwoUnits(ms / 86_400_000, 'd', 24, 'h')
}

function formatTwoUnits(value: number, unit: string, of: number, smaller: string): string {
  const first = Math.floor(value)
  const rest = Math.floor((value - first) * of)
  return rest === 0 ? `${first} ${unit}` : `${first} ${unit} ${rest} ${smaller}`
}

export function formatClock(at: number): string {
  return new Date(at).toTimeString().slice(0, 8)
}
