/**
 * Builds the condition of a statement as the engine of a manager does: by appending texts. Conditions carry their own
 * separator, parentheses are one level deep, and nothing encloses an OR, so it escapes the conditions around it.
 */
import { EngineError, Undetermined } from './outcome.ts'
import type { EngineTable } from './tables.ts'

export type Value = string | number

/** One condition, and what connects it with the next one. */
export interface Condition {
  readonly field: string
  readonly operator: string
  /** `null`: the word `null`, which means no value. */
  readonly value: string | null
  readonly separator: '' | 'AND' | 'OR'
  readonly level: number
}

export interface Sql {
  readonly text: string
  readonly values: readonly Value[]
}

const OPERATORS: Readonly<Record<string, string>> = { '=': '=', '!=': '!=', '<': '<', '>': '>', '~': 'LIKE' }
const CONDITION = /(\()?([\w.]+)([=!<>~]{1,2})([\w _\-.:]+)(\))?([,;])?/g
const SEPARATORS = { ',': 'OR', ';': 'AND' } as const

/** The word `all` drops its condition, but not the separator of the one before. */
const DROPPED = 'all'

/** Reads `q`. What the expression does not cover, such as a second parenthesis, is skipped. */
export function conditionsOf(q: string, table: EngineTable): Condition[] {
  const first = new RegExp(`^${CONDITION.source}`).exec(q)
  if (first === null) throw new EngineError(1407)
  let level = 0
  return [...q.matchAll(CONDITION)].flatMap(([, open, field = '', operator = '', value = '', close, separator]) => {
    if (!Object.hasOwn(table.columns, field)) throw new EngineError(1408)
    const sign = OPERATORS[operator]
    if (sign === undefined) throw new EngineError(1409)
    level += (open === undefined ? 0 : 1) - (close === undefined ? 0 : 1)
    if (value === DROPPED) return []
    const joint = separator === undefined ? '' : SEPARATORS[separator as ',' | ';']
    return [{ field, operator: sign, value: value === 'null' ? null : value, separator: joint, level }]
  })
}

/** Named parameters: alternatives are joined by OR, which also joins them with what follows. */
export function conditionsOfFilters(filters: readonly (readonly [string, string])[], hasQ: boolean): Condition[] {
  const conditions = filters.flatMap(([field, value]): Condition[] => {
    const alternatives = value.split(',')
    const separator = alternatives.length > 1 ? 'OR' : 'AND'
    return alternatives
      .filter((each) => each !== DROPPED)
      .map((each) => ({ field, operator: '=', value: each === 'null' ? null : each, separator, level: 0 }))
  })
  return conditions.map((each, at) =>
    at < conditions.length - 1 ? each : { ...each, separator: hasQ ? ('AND' as const) : ('' as const) },
  )
}

/** Returns the text behind `WHERE`; `write` writes one condition without the parentheses around it. */
export function conditionText(conditions: readonly Condition[], write: (condition: Condition) => Sql): Sql {
  const values: Value[] = []
  let text = ''
  let level = 0
  for (const condition of conditions) {
    const { text: inner, values: bound } = write(condition)
    const open = level < condition.level ? '((' : '('
    const close = level > condition.level ? '))' : ')'
    text += `${open}${inner}${close} ${condition.separator} `
    values.push(...bound)
    level = condition.level
  }
  return { text, values }
}

/** A comparison of one column. Digits are numbers for the daemon; letters match without case if they are ASCII. */
export function comparison({ field, operator, value }: Condition, table: EngineTable): Sql {
  if (value === null) {
    if (operator !== '=') throw new Undetermined('an operator other than = with null')
    return { text: `"${field}" IS NULL`, values: [] }
  }
  const written = field === 'version' ? value.replace(/([a-zA-Z])(v)/g, '$1 $2') : value
  if (operator === 'LIKE') return { text: `"${field}" LIKE ? COLLATE NOCASE`, values: [`%${safe(written, table)}%`] }
  const isNumber = table.backend === 'wdb' && /^\d+$/.test(written)
  const bound = isNumber ? Number(written) : safe(written, table)
  return { text: `"${field}" ${operator} ? COLLATE NOCASE`, values: [bound] }
}

/** Texts become parts of the statement: a quote ends it, and names of parameters are replaced once more. */
export function safe(text: string, { backend }: EngineTable): string {
  if (backend === 'sqlite') return text
  if (text.includes("'")) throw new EngineError(2003)
  if (/:[a-z]/i.test(text)) throw new Undetermined('a value with the name of a parameter')
  if (/limit|offset|count/i.test(text)) throw new Undetermined('a value with a word of the statement')
  return text
}
