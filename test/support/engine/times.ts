/** Dates in `q`: time frames, and days that are compared as they are stored. The states of agents follow from them. */
import { EngineError, Undetermined } from './outcome.ts'
import type { Condition, Sql } from './statement.ts'
import type { EngineTable } from './tables.ts'

const SECONDS_BY_UNIT: Readonly<Record<string, number>> = { d: 86_400, h: 3600, m: 60, s: 1 }

/** Returns the seconds of `90`, `1d` or `1d2h`; undefined: the text is no time frame. */
export function secondsOf(text: string): number | undefined {
  if (/^\d+$/.test(text)) return Number(text)
  const parts = [...text.matchAll(/(\d+)([dhms])/g)]
  if (parts.length === 0 || parts.map(([part]) => part).join('') !== text) return undefined
  return parts.reduce((sum, [, count, unit = '']) => sum + Number(count) * (SECONDS_BY_UNIT[unit] ?? 0), 0)
}

export function dateCondition({ field, operator, value }: Condition, table: EngineTable, now: Date): Sql {
  const text = value ?? ''
  const isDay = /^\d{4}-\d{2}-\d{2}/.test(text)
  if (table.columns[field]?.epoch) {
    if (isDay) throw new Undetermined('a day as a time in the time zone of the node')
    throw new EngineError(1412)
  }
  // Whether the manager itself is left out is known for time frames only.
  if (isDay) throw new Undetermined('a day in a condition on agents')
  if (!/^\d+[dhms]|^\d+$/.test(text)) throw new EngineError(1412)
  const seconds = secondsOf(text)
  if (seconds === undefined) throw new EngineError(1411)
  const sign = operator === '<' || operator === '=' ? '>' : '<'
  return { text: `"id" != 0 AND "${field}" IS NOT NULL AND "${field}" ${sign} ?`, values: [timeBefore(now, seconds)] }
}

/** Agents that never connected are judged by their registration. */
export function olderThanCondition(text: string, now: Date): Sql {
  const seconds = secondsOf(text)
  if (seconds === undefined) throw new EngineError(1411)
  const before = timeBefore(now, seconds)
  return {
    text: '"id" != 0 AND (("lastKeepAlive" < ?) OR ("lastKeepAlive" IS NULL AND "dateAdd" < ?))',
    values: [before, before],
  }
}

const SECONDS_UNTIL_DISCONNECTED = 1800

/** `state`: in lower case and without spaces. */
export function agentStateCondition(state: string, now: Date): Sql {
  const before = timeBefore(now, SECONDS_UNTIL_DISCONNECTED)
  switch (state) {
    case 'active':
      return { text: '("lastKeepAlive" >= ? AND "version" IS NOT NULL) OR "id" = 0', values: [before] }
    case 'disconnected':
      return { text: '"lastKeepAlive" < ?', values: [before] }
    case 'pending':
      return { text: '"lastKeepAlive" IS NOT NULL AND "version" IS NULL', values: [] }
    default:
      return { text: '"lastKeepAlive" IS NULL AND "id" != 0', values: [] }
  }
}

function timeBefore(now: Date, seconds: number): string {
  return new Date(Math.max(now.getTime() - seconds * 1000, 0)).toISOString().slice(0, 19).replace('T', ' ')
}
