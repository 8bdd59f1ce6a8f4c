/**
 * Faults of parameters: the node answers them with a text of its validators and without a code. The edge has checked all
 * values before, so they are rare: values that the classic layout allows and the newer one does not.
 */
import type { Endpoint } from '../../../catalogue/endpoint.ts'
import type { NoError } from '../../../catalogue/newer/translation.ts'
import { type Kind, kinds } from '../../../catalogue/schemas/kinds.ts'
import { ownEntry } from '../../../core/values.ts'
import { type ClassicError, classicError } from './classic-error.ts'
import type { Conversation } from './conversation.ts'

const MISSING = [/^Missing query parameter '(.+)'$/, /^'(.+)' is a required property/]
const UNKNOWN = /^(?:Extra query parameter|Invalid field found)/
const NOT_AN_OBJECT = /is not of type 'object'$/
const LESS_THAN_MINIMUM = /^(-?\d+) is less than the minimum/
const GREATER_THAN_MAXIMUM = /is greater than the maximum/
/** The name of a field of the body, and that of a parameter with a wrong type. */
const NAMED = [/ - '([^']+)'$/, /for (?:query|path) parameter '([^']+)'$/]
const VALUE = /On instance(?:\[\d{1,9}\])?: '(.*)'/s
const FORMAT = /is not a '([a-z_]+)'/

/** The code for a value of a format if the parameter is not known. */
const formatKinds: Readonly<Record<string, Kind>> = {
  numbers: 'numbers',
  numbers_or_all: 'array_numbers',
  names: 'names',
  group_names: 'names',
  group_names_or_all: 'array_names',
  alphanumeric: 'alphanumeric',
  search: 'search',
  sort: 'sort',
  timeframe: 'timeframe',
  hash: 'hashes',
  date: 'dates',
  query: 'query',
  select: 'select',
}

export function errorOfParameters(conversation: Conversation, detail: string): ClassicError | NoError {
  const { translation, request } = conversation
  const missing = firstMatch(MISSING, detail)
  if (missing !== undefined) return withDetail(604, `. Missing field: '${classicNameOf(conversation, missing)}'`)
  if (UNKNOWN.test(detail)) return withDetail(604, '')
  if (NOT_AN_OBJECT.test(detail)) return withDetail(614, '')
  const minimum = LESS_THAN_MINIMUM.exec(detail)?.[1]
  if (minimum === '0') return withDetail(1406, '')
  if (GREATER_THAN_MAXIMUM.test(detail)) return withDetail(1405, '')
  const name = refusedName(conversation, detail)
  const rule = name === undefined ? undefined : ownEntry(translation.refused, name)
  if (rule !== undefined) return typeof rule === 'number' ? classicError(rule) : rule
  if (name !== undefined && isTextFilter(conversation, name)) return 'empty'
  const kind = (name === undefined ? undefined : kindOf(request.endpoint, name)) ?? kindOfFormat(detail)
  if (kind === undefined) return withDetail(614, '')
  const { code, message } = kinds[kind]
  return withDetail(code, `.${message === '' ? '' : ` ${message}`}${name === undefined ? '' : `  Field: ${name}`}`)
}

const TEXT_KINDS: ReadonlySet<Kind> = new Set(['alphanumeric', 'names', 'paths', 'ips'])

/** A filter takes texts that the node refuses, as the name of a file without its ending: no row has such a text. */
function isTextFilter({ request: { endpoint }, translation }: Conversation, name: string): boolean {
  const param = ownEntry(endpoint.query, name)
  const isOfCollection = endpoint.method === 'GET' && translation.response.kind === 'collection'
  return isOfCollection && param !== undefined && TEXT_KINDS.has(param.kind)
}

function withDetail(code: number, detail: string): ClassicError {
  const error = classicError(code)
  return { ...error, message: error.message + detail }
}

function firstMatch(patterns: readonly RegExp[], text: string): string | undefined {
  for (const pattern of patterns) {
    const found = pattern.exec(text)?.[1]
    if (found !== undefined) return found
  }
  return undefined
}

/**
 * Returns the classic name of the parameter that the text is about: it has the name, or the value, or neither. If several
 * parameters have the value, it is about the one whose values the node restricts.
 */
function refusedName(conversation: Conversation, detail: string): string | undefined {
  const named = firstMatch(NAMED, detail)
  if (named !== undefined) return classicNameOf(conversation, named)
  const value = VALUE.exec(detail)?.[1]?.toLowerCase()
  if (value === undefined) return undefined
  const { request, translation } = conversation
  const holders = [...Object.entries(request.query), ...Object.entries(request.params)].flatMap(([name, text]) =>
    text.toLowerCase().split(',').includes(value) ? [name] : [],
  )
  return holders.find((name) => ownEntry(translation.refused, name) !== undefined) ?? holders[0]
}

function classicNameOf({ translation }: Conversation, name: string): string {
  const rules = Object.entries(translation.call.params ?? {})
  return rules.find(([, { as }]) => as === name)?.[0] ?? name
}

function kindOf(endpoint: Endpoint, name: string): Kind | undefined {
  const param = ownEntry(endpoint.query, name) ?? ownEntry(endpoint.params, name)
  if (param !== undefined) return param.kind
  const body = 'body' in endpoint ? endpoint.body : undefined
  return body?.kind === 'fields' ? ownEntry(body.fields, name)?.kind : undefined
}

function kindOfFormat(detail: string): Kind | undefined {
  return ownEntry<Kind>(formatKinds, FORMAT.exec(detail)?.[1] ?? '')
}
