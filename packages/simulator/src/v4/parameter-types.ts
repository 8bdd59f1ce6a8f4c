/**
 * The types of parameters and of members of bodies, as texts: `list of numbers (length 3..), required`,
 * `integer (1..500, default 500)`, `one of a | b, since 4.7`.
 */
import { type Format, isFormat } from './formats.ts'

export interface Param {
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'object' | 'list'
  /** Name of the format that the value must have. */
  readonly format?: Format
  /** The only values. */
  readonly values?: readonly string[]
  readonly min?: number
  readonly max?: number
  readonly minLength?: number
  readonly maxLength?: number
  /** Only in the texts of errors. */
  readonly minItems?: number
  readonly default?: number | boolean
  /** The members of a list. */
  readonly items?: Param
  readonly required?: true
  /** The minor versions of the first and the last release that have the parameter. Absent: all. */
  readonly since?: number
  readonly until?: number
}

export type Params = Readonly<Record<string, Param>>

const known = new Map<string, Param>()

/** Throws for a type that is not known. */
export function parseType(text: string): Param {
  const param = known.get(text) ?? parse(text)
  known.set(text, param)
  return param
}

function parse(text: string): Param {
  const [, list] = /^list of (.+)$/.exec(text) ?? []
  if (list !== undefined) {
    const { required, since, until, minItems, ...items } = parse(list)
    return { type: 'list', items, ...conditionsOf(text) }
  }
  const base = text
    .replace(/, (?:required|since|until)\b.*$/, '')
    .replace(/ \([^)]*\)$/, '')
    .trim()
  const [, choice] = /^one of (.+)$/.exec(base) ?? []
  const minItems = numberIn(text, /minItems (\d+)/)
  if (choice !== undefined) {
    const values = choice.split(' | ')
    return { type: 'string', values, ...(minItems !== undefined && { minItems }), ...conditionsOf(text) }
  }
  return { ...scalarOf(base), ...boundsOf(text), ...conditionsOf(text) }
}

const scalars: Readonly<Record<string, Param>> = {
  string: { type: 'string' },
  integer: { type: 'integer' },
  float: { type: 'number' },
  boolean: { type: 'boolean' },
  object: { type: 'object' },
}

function scalarOf(name: string): Param {
  const scalar = scalars[name]
  if (scalar !== undefined) return scalar
  if (isFormat(name)) return { type: 'string', format: name }
  throw new Error(`Write a format or a type '${name}'`)
}

function boundsOf(text: string): Partial<Param> {
  const bounds = {
    min: numberIn(text, /\((-?\d+)\.\./),
    max: numberIn(text, /\(\d*\.\.(\d+)/),
    minLength: numberIn(text, /length (\d+)\.\./),
    maxLength: numberIn(text, /length \d*\.\.(\d+)/),
    default: numberIn(text, /default (\d+)/) ?? (/default false/.test(text) ? false : undefined),
  }
  return Object.fromEntries(Object.entries(bounds).filter(([, value]) => value !== undefined))
}

function conditionsOf(text: string): Partial<Param> {
  const since = numberIn(text, /since 4\.(\d+)/)
  const until = numberIn(text, /until 4\.(\d+)/)
  return {
    ...(/, required\b/.test(text) && { required: true }),
    ...(since !== undefined && { since }),
    ...(until !== undefined && { until }),
  }
}

function numberIn(text: string, pattern: RegExp): number | undefined {
  const found = pattern.exec(text)?.[1]
  return found === undefined ? undefined : Number(found)
}
