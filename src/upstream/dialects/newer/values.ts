/** The forms of values of the newer layout in the classic one. A value of another form stays as it is. */
import type { ValueRule } from '../../../catalogue/newer/translation.ts'
import { toFileMode } from './permissions.ts'

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
