/** The forms of values of the newer layout in the classic one. A value of another form stays as it is. */
import type { ValueRule } from '../../../catalogue/newer/translation.ts'

type ConvertValue = (value: unknown) => unknown

const DATE = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}:\d{2}:\d{2})(\.\d+)?(?:Z|\+00:00)$/

export const values: Readonly<Record<ValueRule, ConvertValue>> = {
  date: ofText((text) => text.replace(DATE, '$1-$2-$3 $4')),
  slashedDate: ofText((text) => text.replace(DATE, '$1/$2/$3 $4')),
  preciseDate: ofText((text) => text.replace(DATE, '$1-$2-$3 $4$5')),
  agentStatus: ofText((text) => AGENT_STATUS.get(text) ?? text),
  daemon: ofText((text) => text.replace(/^wazuh-(?!clusterd$|modulesd$|db$)/, 'ossec-')),
  integer: (value) => (typeof value === 'number' && !Number.isInteger(value) ? Math.trunc(value) : value),
}

const AGENT_STATUS: ReadonlyMap<string, string> = new Map([
  ['active', 'Active'],
  ['pending', 'Pending'],
  ['never_connected', 'Never connected'],
  ['disconnected', 'Disconnected'],
])

function ofText(convert: (text: string) => string): ConvertValue {
  return (value) => (typeof value === 'string' ? convert(value) : value)
}
