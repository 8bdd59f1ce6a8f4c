/**
 * The parameter filters that the real API runs before its framework. They follow the catalogue's records, with the
 * wider patterns of the real system where a record is stricter.
 */
import type { Endpoint, Field, Param } from '../../../src/contracts/endpoint.ts'
import { kinds, type ValueKind } from '../../../src/contracts/schemas/kinds.ts'
import { errorTable } from '../../../src/core/errors.ts'
import type { ParsedBody } from './bodies.ts'
import { FrameworkError } from './model.ts'
import type { Match } from './routes.ts'
import { checkUpload } from './uploads.ts'

export type Texts = Readonly<Record<string, string>>

/** The parameters of a request that passed the filters. */
export interface Asked {
  readonly params: Texts
  readonly query: Texts
  readonly fields: Readonly<Record<string, unknown>>
  readonly text: string
}

/** Filters a request. Throws the error that the real API returns (HTTP 400) if a name or value is invalid. */
export function filter({ endpoint, params }: Match, query: Texts, body: ParsedBody): Asked {
  for (const [name, param] of Object.entries(endpoint.params)) checkValue(name, param, params[name] ?? '')
  const known = readQuery(endpoint, query)
  return { params: canonical(endpoint, params), query: known, ...readBody(endpoint, body) }
}

/** Parses a query as the real parser does: `+` is a space, and values of a repeated name are joined by commas. */
export function parseQuery(search: string): { query: Texts; pretty: boolean; waitForComplete: boolean } {
  const query: Record<string, string> = {}
  for (const [name, value] of new URLSearchParams(search)) {
    query[name] = query[name] === undefined ? value : `${query[name]},${value}`
  }
  const { pretty, wait_for_complete: wait, ...rest } = query
  return { query: rest, pretty: pretty !== undefined, waitForComplete: wait !== undefined }
}

function readQuery(endpoint: Endpoint, query: Texts): Texts {
  // Nodes do not know parameters that the edge evaluates itself.
  const names = Object.keys(endpoint.query).filter((name) => endpoint.query[name]?.edgeOnly === undefined)
  if (endpoint.contract === 'v3' && endpoint.strictQuery && Object.keys(query).some((name) => !names.includes(name))) {
    throw notAllowed(names)
  }
  if (endpoint.oneOf !== undefined && !endpoint.oneOf.some((name) => query[name] !== undefined)) {
    checkAll(endpoint.query, query)
    throw refused(604, "Filter error. Missing field: You have to specified 'ids' or status.")
  }
  for (const [name, param] of Object.entries(endpoint.query)) {
    if (param.required === undefined || query[name] !== undefined) continue
    throw param.required === 706 ? refused(706, `'${name}' parameter is mandatory`) : missing([name])
  }
  checkAll(endpoint.query, query)
  return Object.fromEntries(names.flatMap((name) => (query[name] === undefined ? [] : [[name, query[name]]])))
}

function checkAll(params: Readonly<Record<string, Param>>, query: Texts): void {
  for (const [name, param] of Object.entries(params)) {
    const value = query[name]
    if (value !== undefined) checkValue(name, param, value)
  }
}

function checkValue(name: string, param: Pick<Param, 'kind' | 'within'>, value: string): void {
  const kind: ValueKind = kinds[param.kind]
  if (!patternOf(kind).test(value)) {
    throw refused(kind.code, `${textOf(kind.code)}.${kind.message === '' ? '' : ` ${kind.message}`}  Field: ${name}`)
  }
  if (param.within !== undefined && !new RegExp(param.within.pattern).test(value)) {
    throw refused(704, 'Invalid path')
  }
}

function textOf(code: number): string {
  return Object.entries(errorTable).find(([known]) => known === String(code))?.[1].message ?? ''
}

const patterns = new Map<ValueKind, RegExp>()

function patternOf(kind: ValueKind): RegExp {
  const known = patterns.get(kind)
  if (known !== undefined) return known
  const pattern = new RegExp(sourceOf(kind))
  patterns.set(kind, pattern)
  return pattern
}

const CONDITION = '\\(*[A-Za-z0-9_.-]+(?:=|!=|<|>|~)[A-Za-z0-9_. -]+\\)*'

function sourceOf({ grammar, wider, pattern }: ValueKind): string {
  if (grammar === 'query') return `^${CONDITION}(?:[;,]${CONDITION})*$`
  if (wider === undefined) return pattern ?? ''
  // A `wider` that is not a pattern means that the real filter accepts every value.
  return wider.startsWith('^') ? wider : ''
}

function readBody(endpoint: Endpoint, body: ParsedBody): Pick<Asked, 'fields' | 'text'> {
  if (endpoint.method === 'GET' || endpoint.body === undefined) return { fields: body.fields, text: body.text }
  if (endpoint.body.kind === 'upload') return { fields: {}, text: checkUpload(endpoint.body, body) }
  // The real filters expect fields and fail on a text.
  if (body.text !== '') throw new FrameworkError(3, 'Internal error', 500)
  checkFields(endpoint.method, endpoint.body.fields, body.fields)
  return { fields: body.fields, text: '' }
}

function checkFields(method: string, known: Readonly<Record<string, Field>>, sent: Asked['fields']): void {
  // Only the framework validates PUT /active-response.
  if (method !== 'POST') return
  if (Object.keys(sent).some((name) => known[name] === undefined)) throw notAllowed(Object.keys(known))
  const required = Object.keys(known).filter((name) => known[name]?.required !== undefined)
  if (required.some((name) => sent[name] === undefined)) throw missing(required)
  for (const [name, { kind }] of Object.entries(known)) {
    const value = sent[name]
    if (value !== undefined && kind !== undefined) checkValue(name, { kind }, String(value))
  }
}

/** Normalises an agent id: `1`, `01` and `0001` are the agent `001`. */
function canonical(endpoint: Endpoint, params: Texts): Texts {
  const pad = ([name, value]: [string, string]) =>
    endpoint.params[name]?.canonical === 'agentId' ? [name, String(BigInt(value)).padStart(3, '0')] : [name, value]
  return Object.fromEntries(Object.entries(params).map(pad))
}

/** The real text ends with two spaces. */
function notAllowed(names: readonly string[]): FrameworkError {
  return refused(604, `Filter error. Allowed filters: [ ${names.join('  ')} ]  `)
}

function missing(names: readonly string[]): FrameworkError {
  if (names.length === 1) return refused(604, `Filter error. Missing field: '${names[0]}'`)
  // Only one endpoint has several. Its text also names the address, because the API has filled it in before.
  return refused(604, 'Filter error. Missing fields. Mandatory fields: id, name, ip, key')
}

function refused(code: number, message: string): FrameworkError {
  return new FrameworkError(code, message, 400)
}
