/** The forms of values of the newer layout in the classic one. A value of another form stays as it is. */
import type { ValueRule } from '../../../catalogue/newer/translation.ts'

type ConvertValue = (value: unknown) => unknown

const DATE = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}:\d{2}:\d{2})(\.\d+)?(?:Z|\+00:00)$/

export const values: Readonly<Record<ValueRule, ConvertValue>> = {
  date: ofText((text) => text.replace(DATE, '$1-$2-$3 $4')),
  slashedDate: ofText((text) => text.replace(DATE, '$1/$2/$3 $4')),
  preciseDate: ofText((text) => text.replace(DATE, '$1-$2-$3 $4$5')),
  longDate: ofText(toLongDate),
  agentStatus: ofText((text) => AGENT_STATUS.get(text) ?? text),
  daemon: ofText((text) => text.replace(/^wazuh-(?!(?:clusterd|modulesd|db|apid)(?:$|:))/, 'ossec-')),
  scanTime: (value) => (value === null ? 'ND' : values.date(value)),
  patterns: toPatterns,
  permissions: toFileMode,
  nonBlank: (value) => (typeof value === 'string' && value.trim() === '' ? undefined : value),
  syscheckType: (value) => (value === 'registry_key' || value === 'registry_value' ? 'registry' : value),
  checkResult: (value) => (value === NOT_APPLICABLE ? '' : value),
  checkStatus: (value) => (value === NOT_APPLICABLE ? 'Not applicable' : undefined),
  integer: (value) => (typeof value === 'number' && !Number.isInteger(value) ? Math.trunc(value) : value),
}

const NOT_APPLICABLE = 'not applicable'

const AGENT_STATUS: ReadonlyMap<string, string> = new Map([
  ['active', 'Active'],
  ['pending', 'Pending'],
  ['never_connected', 'Never connected'],
  ['disconnected', 'Disconnected'],
])

/** Options of rules and decoders: `{match: {pattern: 'x', type: 'pcre2'}}` is `{match: 'x'}` in the classic layout. */
function toPatterns(options: unknown): unknown {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) return options
  return Object.fromEntries(Object.entries(options).map(([name, option]) => [name, toPattern(option)]))
}

function toPattern(option: unknown): unknown {
  const isPattern = typeof option === 'object' && option !== null && Object.hasOwn(option, 'pattern')
  return isPattern ? (option as { readonly pattern: unknown }).pattern : option
}

function toLongDate(text: string): string {
  const parts = DATE.test(text) ? /^(\w+), (\d+) (\w+) (\d+) ([\d:]+) GMT$/.exec(new Date(text).toUTCString()) : null
  if (parts === null) return text
  const [, weekday = '', day = '', month = '', year = '', time = ''] = parts
  return `${weekday} ${month} ${String(Number(day)).padStart(2)} ${time} UTC ${year}`
}

function ofText(convert: (text: string) => string): ConvertValue {
  return (value) => (typeof value === 'string' ? convert(value) : value)
}

/** Owner, group, others: what the third letter means besides the permission to execute. */
const SPECIAL_BITS: Readonly<Record<string, number>> = { s: 1, S: 1, t: 1, T: 1 }
const LETTERS = /^(?:[r-][w-][xsS-])(?:[r-][w-][xsS-])(?:[r-][w-][xtT-])$/

/**
 * Returns the mode of a regular file as text: `rw-r--r--` is 100644, `rwsr-xr-x` is 104755. Integrity monitoring stores
 * regular files only. Agents before 4.0 send the digits as a number. Other texts, as those of Windows, are returned
 * unchanged.
 */
export function toFileMode(permissions: unknown): unknown {
  if (typeof permissions === 'number') return String(permissions)
  if (typeof permissions !== 'string' || !LETTERS.test(permissions)) return permissions
  const parts = [permissions.slice(0, 3), permissions.slice(3, 6), permissions.slice(6)]
  const special = parts.reduce((bits, part) => bits * 2 + (SPECIAL_BITS[part[2] ?? ''] ?? 0), 0)
  return `10${special}${parts.map(toDigit).join('')}`
}

function toDigit(part: string): number {
  const [read, write, execute = ''] = part
  return (read === 'r' ? 4 : 0) + (write === 'w' ? 2 : 0) + (/[xst]/.test(execute) ? 1 : 0)
}
