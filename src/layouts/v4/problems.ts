/** What a problem of a node means in the v3 layout. */

import type { Endpoint } from '../../contracts/endpoint.ts'
import { type Kind, kinds } from '../../contracts/schemas/kinds.ts'
import type { NoError } from '../../contracts/translations/translation.ts'
import { describedFields } from '../../core/endpoint-names.ts'
import { REFUSED_BY_RIGHTS } from '../../core/response.ts'
import { ownEntry } from '../../core/values.ts'
import type { NodeProblem } from './content.ts'
import type { Conversation } from './conversation.ts'
import { errorOf, meaningOf, type V3Error, v3Error } from './errors.ts'

/** Returns what a problem means. Without a code it is about parameters, or about the API process of the node. */
export function errorOfProblem(conversation: Conversation, problem: NodeProblem): V3Error | NoError {
  const { code, detail, status } = problem
  if (code === undefined) return errorWithoutCode(conversation, problem)
  const meaning = meaningOf(code, conversation.translation.errors)
  if (typeof meaning === 'string') return meaning
  return { ...errorOf(meaning, code, detail), ...(code === REFUSED_BY_RIGHTS && { status }) }
}

const TOO_LARGE = 413

function errorWithoutCode(conversation: Conversation, problem: NodeProblem): V3Error | NoError {
  if (problem.status === TOO_LARGE) return v3Error(701)
  if (problem.status >= 500) return v3Error(3)
  // The node does not know the path: its release is older than the translation.
  if (problem.status === 404) return v3Error(603)
  return errorOfParameters(conversation, problem.detail)
}

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

/**
 * Faults of parameters: the node answers them with a text of its validators and without a code. The edge has checked
 * all values before, so they are rare: values that the v3 layout allows and the v4 one does not.
 */
function errorOfParameters(conversation: Conversation, detail: string): V3Error | NoError {
  const { translation, request } = conversation
  const missing = firstMatch(MISSING, detail)
  if (missing !== undefined) return withDetail(604, `. Missing field: '${v3NameOf(conversation, missing)}'`)
  if (UNKNOWN.test(detail)) return v3Error(604)
  if (NOT_AN_OBJECT.test(detail)) return v3Error(614)
  const minimum = LESS_THAN_MINIMUM.exec(detail)?.[1]
  if (minimum === '0') return v3Error(1406)
  if (GREATER_THAN_MAXIMUM.test(detail)) return v3Error(1405)
  const name = refusedName(conversation, detail)
  const rule = name === undefined ? undefined : ownEntry(translation.refused, name)
  if (rule !== undefined) return typeof rule === 'number' ? v3Error(rule) : rule
  if (name !== undefined && isTextFilter(conversation, name)) return 'empty'
  const kind = (name === undefined ? undefined : kindOf(request.endpoint, name)) ?? kindOfFormat(detail)
  if (kind === undefined) return v3Error(614)
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

function withDetail(code: number, detail: string): V3Error {
  const error = v3Error(code)
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
 * Returns the v3 name of the parameter that the text is about: it has the name, or the value, or neither. If several
 * parameters have the value, it is about the one whose values the node restricts.
 */
function refusedName(conversation: Conversation, detail: string): string | undefined {
  const named = firstMatch(NAMED, detail)
  if (named !== undefined) return v3NameOf(conversation, named)
  const value = VALUE.exec(detail)?.[1]?.toLowerCase()
  if (value === undefined) return undefined
  const { request, translation } = conversation
  const holders = [...Object.entries(request.query), ...Object.entries(request.params)].flatMap(([name, text]) =>
    text.toLowerCase().split(',').includes(value) ? [name] : [],
  )
  return holders.find((name) => ownEntry(translation.refused, name) !== undefined) ?? holders[0]
}

function v3NameOf({ translation }: Conversation, name: string): string {
  const rules = Object.entries(translation.call.params ?? {})
  return rules.find(([, { as }]) => as === name)?.[0] ?? name
}

function kindOf(endpoint: Endpoint, name: string): Kind | undefined {
  const param = ownEntry(endpoint.query, name) ?? ownEntry(endpoint.params, name)
  if (param !== undefined) return param.kind
  return ownEntry(describedFields(endpoint), name)?.kind
}

function kindOfFormat(detail: string): Kind | undefined {
  return ownEntry<Kind>(formatKinds, FORMAT.exec(detail)?.[1] ?? '')
}
