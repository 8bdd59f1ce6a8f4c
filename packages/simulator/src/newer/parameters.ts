/** The parameters of calls, and how the newer API refuses values before the manager sees them. */
import { badRequest } from './errors.ts'

export interface Param {
  readonly type: 'text' | 'integer' | 'number' | 'boolean' | 'list'
  /** Name of the format that the value, or each member of a list, must have. */
  readonly format?: keyof typeof formats
  /** The only values. `anyCase`: case is ignored. */
  readonly values?: readonly string[]
  readonly anyCase?: true
  readonly min?: number
  readonly max?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly required?: true
  /** The minor version of the first release that has the parameter. Absent: all. */
  readonly since?: number
}

export type Params = Readonly<Record<string, Param>>
export type Texts = Readonly<Record<string, string>>

export const formats = {
  alphanumeric: /^[\w,\-.+\s:]+$/,
  numbers: /^\d+$/,
  numbers_or_all: /^(?:\d+|all)$/,
  names: /^[\w\-.%]+$/,
  group_names: /^(?!^(?:\.{1,2}|all)$)[\w.-]+$/,
  group_names_or_all: /^(?!^\.{1,2}$)[\w.-]+$/,
  search: /^[^;|&^*>]+$/,
  sort: /^[\w\-,\s+.]+$/,
  symbols_alphanumeric: /^[\w,<>!\-.+\s:/()[\]'"|=~#]+$/,
  timeframe: /^\d+[dhms]?$/,
  date: /^\d{4}-\d{2}-\d{2}$/,
  wazuh_version: /^(?:wazuh )?v?\d+\.\d+\.\d+$/i,
  wpk_path: /^\/var\/ossec\/(?!.*\.\.\/)[\w\-.\\/:]+\.wpk$/,
  xml_filename_path: /^[\w.-]+\.xml$/,
  xml_filename: /^[\w\-.,]+\.xml(?:,[\w\-.]+\.xml)*$/,
  cdb_filename_path: /^[\w-]+$/,
  get_dirnames_path: /^(?:(?:etc|ruleset)\/(?:decoders|rules)[\w\-/]*|etc\/lists\/*[\w\-/]*)$/,
  active_response_command: /^!?[\w.-]+$/,
  hash: /^(?:[\da-fA-F]{32}|[\da-fA-F]{40}|[\da-fA-F]{64})$/,
  range: /^\d+(?:-\d{1,2})?$/,
  path: /^[\w\-.\\/:\s]+$/,
} as const

export const text = (format?: Param['format']): Param => ({ type: 'text', ...(format === undefined ? {} : { format }) })
export const list = (format?: Param['format'], rest: Partial<Param> = {}): Param => ({
  type: 'list',
  ...(format === undefined ? {} : { format }),
  ...rest,
})
export const choice = (...values: readonly string[]): Param => ({ type: 'text', values })
export const flag: Param = { type: 'boolean' }
export const integer = (min?: number, max?: number): Param => ({
  type: 'integer',
  ...(min === undefined ? {} : { min }),
  ...(max === undefined ? {} : { max }),
})
export const required = (param: Param): Param => ({ ...param, required: true })

export const agentId: Param = { type: 'text', format: 'numbers', minLength: 3 }
export const agentsList: Param = { type: 'list', format: 'numbers', minLength: 3 }
export const agentsListOrAll: Param = { type: 'list', format: 'numbers_or_all', minLength: 3 }
export const nodesList: Param = list()

/** Parameters of every call. */
const common = { pretty: flag, wait_for_complete: flag } as const satisfies Params
export type CommonParam = keyof typeof common
/** Parameters of every collection. `max`: of `limit`. */
export const paging = (max = 100_000): Params => ({
  offset: integer(0),
  limit: integer(1, max),
  search: text('search'),
  sort: text('sort'),
})
export const selecting: Params = { select: list('names') }
export const querying: Params = { q: text() }

/**
 * Checks a query. Parameters without a value do not count, not even unknown ones, and the last of several values wins;
 * lists are joined.
 */
export function checkQuery(own: Params, search: string, without: readonly CommonParam[] = []): Texts {
  const taken = Object.entries(common).filter(([name]) => !without.some((left) => left === name))
  const known: Params = { ...own, ...Object.fromEntries(taken) }
  const query: Record<string, string> = {}
  const extra: string[] = []
  for (const [name, value] of new URLSearchParams(search)) {
    const param = known[name]
    if (value === '') continue
    if (param === undefined) extra.push(name)
    else if (param.type === 'list' && query[name] !== undefined) query[name] = `${query[name]},${value}`
    else query[name] = value
  }
  if (extra.length > 0) throw badRequest(`Extra query parameter(s) ${[...new Set(extra)].join(', ')} not in spec`)
  for (const [name, param] of Object.entries(known)) {
    const value = query[name]
    if (value !== undefined) checkValue(name, param, value)
    else if (param.required) throw badRequest(`Missing query parameter '${name}'`)
  }
  return query
}

export function checkPath(known: Params, params: Texts): void {
  for (const [name, param] of Object.entries(known)) checkValue(name, param, params[name] ?? '', 'path')
}

function checkValue(name: string, param: Param, value: string, where: 'query' | 'path' = 'query'): void {
  if (param.type === 'boolean' && !/^(?:true|false)$/i.test(value)) throw wrongType('boolean', where, name)
  if (param.type === 'integer' && !/^[+-]?\d+$/.test(value.trim())) throw wrongType('integer', where, name)
  if (param.type === 'number' && !/^[+-]?\d+(?:\.\d+)?$/.test(value.trim())) throw wrongType('number', where, name)
  if (param.type === 'integer') checkRange(param, Number(value))
  if (param.type === 'list') {
    for (const [at, member] of value.split(',').entries()) checkMember(param, member, at)
  } else if (param.type === 'text') {
    checkMember(param, value, undefined)
  }
}

function wrongType(type: string, where: string, name: string) {
  return badRequest(`Wrong type, expected '${type}' for ${where} parameter '${name}'`)
}

function checkRange({ min, max }: Param, value: number): void {
  const schema = `{'format': 'int32', ${max === undefined ? '' : `'maximum': ${max}, `}'minimum': ${min}, 'type': 'integer'}`
  const fails = (said: string, rule: string) =>
    badRequest(`${value} is ${said}. Failed validating '${rule}' in schema: ${schema}. On instance: ${value}`)
  if (min !== undefined && value < min) throw fails(`less than the minimum of ${min}`, 'minimum')
  if (max !== undefined && value > max) throw fails(`greater than the maximum of ${max}`, 'maximum')
}

/** `at`: the place in a list; undefined for a single value. */
function checkMember(param: Param, value: string, at: number | undefined): void {
  const { format, values, anyCase, minLength, maxLength } = param
  const fails = (said: string, rule: string) => {
    const schema = `{${[
      ...(values === undefined ? [] : [`'enum': ${repr(values)}`]),
      ...(format === undefined ? [] : [`'format': '${format}'`]),
      ...(minLength === undefined ? [] : [`'minLength': ${minLength}`]),
      "'type': 'string'",
    ].join(', ')}}`
    const place = at === undefined ? '' : `['items']`
    const instance = at === undefined ? '' : `[${at}]`
    const detail = `Failed validating '${rule}' in schema${place}: ${schema}. On instance${instance}: ${repr(value)}`
    return badRequest(`${repr(value)} ${said}. ${detail}`)
  }
  const known = anyCase ? value.toLowerCase() : value
  if (values !== undefined && !values.includes(known)) throw fails(`is not one of ${repr(values)}`, 'enum')
  if (format !== undefined && !formats[format].test(value)) throw fails(`is not a '${format}'`, 'format')
  if (minLength !== undefined && value !== 'all' && value.length < minLength) throw fails('is too short', 'minLength')
  if (maxLength !== undefined && value.length > maxLength) throw fails('is too long', 'maxLength')
  if (param === ruleIds && !/^\d+$/.test(value)) throw fails("is not of type 'integer'", 'type')
}

/** A list of numbers, whose error names the type. */
export const ruleIds: Param = { type: 'list' }

/** Writes a value as the API's language does. */
export function repr(value: unknown): string {
  if (typeof value === 'string') {
    const quote = value.includes("'") && !value.includes('"') ? '"' : "'"
    const escaped = value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
    return quote + (quote === "'" ? escaped.replaceAll("'", "\\'") : escaped) + quote
  }
  if (value === null || value === undefined) return 'None'
  if (value === true) return 'True'
  if (value === false) return 'False'
  if (Array.isArray(value)) return `[${value.map(repr).join(', ')}]`
  if (typeof value === 'object') {
    const entries = Object.entries(value).map(([name, inner]) => `${repr(name)}: ${repr(inner)}`)
    return `{${entries.join(', ')}}`
  }
  return String(value)
}

/** Members of a list parameter; undefined if it was not sent. */
export function membersOf(value: string | undefined): readonly string[] | undefined {
  return value === undefined ? undefined : value.split(',')
}

export function isTrue(value: string | undefined): boolean {
  return value?.toLowerCase() === 'true'
}
