/** Figures as people read them. */
const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })
const few = new Intl.NumberFormat('en', { maximumFractionDigits: 1 })
const two = new Intl.NumberFormat('en', { maximumSignificantDigits: 2 })

export const NONE = '–'

export function count(value: number): string {
  return whole.format(value)
}

export function rate(value: number): string {
  if (value === 0) return '0'
  return value < 10 ? two.format(value) : whole.format(value)
}

export function percent(share: number | undefined | null): string {
  if (share === undefined || share === null) return NONE
  return `${share > 0.999 && share < 1 ? '99.9' : few.format(share * 100)} %`
}

export function bytes(value: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
  const step = value < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(value) / 10))
  return `${few.format(value / 1024 ** step)} ${units[step]}`
}

/** Milliseconds in the unit that suits them. */
export function time(ms: number | undefined | null): string {
  if (ms === undefined || ms === null) return NONE
  if (ms < 0) return `−${time(-ms)}`
  if (ms < 1) return `${two.format(ms)} ms`
  if (ms < 1000) return `${ms < 10 ? few.format(ms) : whole.format(ms)} ms`
  if (ms < 60_000) return `${few.format(ms / 1000)} s`
  if (ms < 3_600_000) return pair(ms / 60_000, 'min', 60, 's')
  if (ms < 86_400_000) return pair(ms / 3_600_000, 'h', 60, 'min')
  return pair(ms / 86_400_000, 'd', 24, 'h')
}

function pair(value: number, unit: string, of: number, smaller: string): string {
  const first = Math.floor(value)
  const rest = Math.floor((value - first) * of)
  return rest === 0 ? `${first} ${unit}` : `${first} ${unit} ${rest} ${smaller}`
}

export function clockTime(at: number): string {
  return new Date(at).toTimeString().slice(0, 8)
}
