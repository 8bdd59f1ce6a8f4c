/** How the v4 API checks the parameters of a request before the manager sees them. */
import { badRequest } from './errors.ts'
import { formats } from './formats.ts'
import { type Param, type Params, parseType } from './parameter-types.ts'
import { repr } from './python.ts'
import { schemaText } from './schema-texts.ts'

export type Texts = Readonly<Record<string, string>>

/** Parameters of every call. */
const common: Params = {
  pretty: parseType('boolean (default false)'),
  wait_for_complete: parseType('boolean (default false)'),
}

/** The API writes the values of these parameters in lower case before it checks them. */
const LOWER = new Set([
  ...['component', 'configuration', 'hash', 'requirement', 'status'],
  ...['type', 'section', 'tag', 'level', 'resource'],
])

function lowered(name: string, value: string): string {
  return LOWER.has(name) ? value.toLowerCase() : value
}

/**
 * Checks a query. Parameters without a value do not count, not even unknown ones, and the last of several values wins;
 * lists are joined. `without`: the parameters of every call that this one does not take. `isLater`: the framework takes
 * an empty value for a value, which fits no parameter.
 */
export function checkQuery(
  own: Params,
  search: string,
  { without = [], isLater }: { readonly without?: readonly string[] | undefined; readonly isLater: boolean },
): Texts {
  const taken = Object.entries(common).filter(([name]) => !without.includes(name))
  const known: Params = { ...own, ...Object.fromEntries(taken) }
  const query: Record<string, string> = {}
  const extra: string[] = []
  for (const [name, sent] of new URLSearchParams(search)) {
    const param = known[name]
    if (sent === '' && !isLater) continue
    const value = lowered(name, sent)
    if (param === undefined) extra.push(name)
    else if (param.type === 'list' && query[name] !== undefined) query[name] = `${query[name]},${value}`
    else query[name] = value
  }
  if (extra.length > 0) throw badRequest(`Extra query parameter(s) ${[...new Set(extra)].join(', ')} not in spec`)
  for (const [name, param] of Object.entries(known)) {
    const value = query[name]
    if (value === '') throw badRequest(typeText(name, param, value))
    if (value !== undefined) checkValue(name, param, value, 'query', isLater)
    else if (param.required) throw badRequest(`Missing query parameter '${name}'`)
  }
  return query
}

/** Returns the parameters of the path, as the manager reads them. `isLater`: the framework writes some in lower case. */
export function checkPath(known: Params, params: Texts, isLater: boolean): Texts {
  const read = !isLater
    ? params
    : Object.fromEntries(Object.entries(params).map(([name, value]) => [name, lowered(name, value)]))
  for (const [name, param] of Object.entries(known)) checkValue(name, param, read[name] ?? '', 'path', isLater)
  return read
}

/** Returns the text of the later framework for a value of another type: an empty one is a text too. */
function typeText(name: string, param: Param, value: string): string {
  const schema = schemaText(name, param)
  return `${repr(value)} is not of type '${param.type}'. Failed validating 'type' in schema: ${schema}. On instance: ${repr(value)}`
}

const texts = { boolean: /^(?:true|false)$/i, integer: /^[+-]?\d+$/, number: /^[+-]?\d+(?:\.\d+)?$/ } as const

function checkValue(name: string, param: Param, value: string, where: 'query' | 'path', isLater: boolean): void {
  const { type } = param
  if (type === 'list') {
    const { items } = param
    if (items !== undefined) for (const [at, member] of value.split(',').entries()) checkMember(name, items, member, at)
    return
  }
  if (type === 'boolean' || type === 'integer' || type === 'number') {
    if (!texts[type].test(value.trim())) {
      if (isLater) throw badRequest(typeText(name, param, value))
      throw badRequest(`Wrong type, expected '${type}' for ${where} parameter '${name}'`)
    }
  }
  if (type !== 'boolean') checkMember(name, param, value)
}

/** `at`: the place in a list; absent for a single value. */
function checkMember(name: string, param: Param, text: string, at?: number): void {
  const isNumber = param.type === 'integer' || param.type === 'number'
  const value = isNumber && texts[param.type].test(text.trim()) ? Number(text) : text
  const fault = faultOf(param, value)
  if (fault === undefined) return
  const [said, rule] = fault
  const place = at === undefined ? '' : `['items']`
  const instance = at === undefined ? '' : `[${at}]`
  const detail = `Failed validating '${rule}' in schema${place}: ${schemaText(name, param)}`
  throw badRequest(`${repr(value)} ${said}. ${detail}. On instance${instance}: ${repr(value)}`)
}

/** Returns what is wrong with a value, and the rule of its schema; undefined: nothing. */
export function faultOf(param: Param, value: unknown): readonly [said: string, rule: string] | undefined {
  const { type, format, values, min, max, minLength = 0, maxLength } = param
  if (typeof value === 'number') {
    if (min !== undefined && value < min) return [`is less than the minimum of ${min}`, 'minimum']
    if (max !== undefined && value > max) return [`is greater than the maximum of ${max}`, 'maximum']
    return undefined
  }
  if (type === 'integer' || type === 'number') return [`is not of type '${type}'`, 'type']
  if (typeof value !== 'string') return undefined
  if (value.length < minLength && value !== 'all') return ['is too short', 'minLength']
  if (values !== undefined && !values.includes(value)) return [`is not one of ${repr(values)}`, 'enum']
  if (format !== undefined && !formats[format].test(value)) return [`is not a '${format}'`, 'format']
  return maxLength !== undefined && value.length > maxLength ? ['is too long', 'maxLength'] : undefined
}

/** Parameters of collections that are no filters. `whole`: the nodes' own mark for a call without a list of agents. */
const CONTROLS = new Set([
  ...['offset', 'limit', 'search', 'sort', 'select', 'q', 'distinct', 'agents_list', 'whole', 'summary'],
  ...Object.keys(common),
])

/** Returns the parameters that name a field and its value. */
export function filtersOf(query: Texts): readonly (readonly [field: string, value: string])[] {
  return Object.entries(query).filter(([name]) => !CONTROLS.has(name))
}

/** Members of a list parameter; undefined if it was not sent. */
export function membersOf(value: string | undefined): readonly string[] | undefined {
  return value === undefined ? undefined : value.split(',')
}

export function isTrue(value: string | undefined): boolean {
  return value?.toLowerCase() === 'true'
}
