/** Errors of the v4 layout as errors of the v3 one. */

import type { Endpoint } from '../../contracts/endpoint.ts'
import { type Kind, kinds } from '../../contracts/schemas/kinds.ts'
import type { ErrorRule, NoError } from '../../contracts/translations/translation.ts'
import v3 from '../../contracts/v3/texts.json' with { type: 'json' }
import { describedFields } from '../../core/endpoint-names.ts'
import { type ErrorCode, errorTable } from '../../core/errors.ts'
import { REFUSED_BY_RIGHTS } from '../../core/response.ts'
import { ownEntry } from '../../core/values.ts'
import { NO_DATABASE, NO_SUCH_NODE, type NodeProblem, UNKNOWN_NODE } from './content.ts'
import type { Conversation } from './conversation.ts'

/**
 * What codes of the v4 layout mean, unless a translation says otherwise. 6000 and 6001 are not here: a blocked address
 * and an exhausted budget are faults of the call, not answers.
 */
const general: Readonly<Record<number, ErrorRule>> = {
  1121: 1117,
  1128: 1101,
  1407: 622,
  1705: 9008,
  1706: 9007,
  1708: 9012,
  [NO_SUCH_NODE]: UNKNOWN_NODE,
  1820: 1716,
  1912: 607,
  2003: 1000,
  [NO_DATABASE]: 'empty',
  6002: 607,
}

/** Returns what a code means for an endpoint: an error, a response without rows, or success. */
export function meaningOf(code: number, errors: Readonly<Record<number, ErrorRule>> | undefined): ErrorRule {
  return ownEntry<ErrorRule>(errors, String(code)) ?? ownEntry<ErrorRule>(general, String(code)) ?? code
}

/** The text names daemons, which the v3 layout calls otherwise. */
const NOT_READY = 1017
const RENAMED_DAEMON = /\bwazuh-(?!modulesd\b|db\b|clusterd\b)(?=[a-z]+->)/g

/** The node says why an upgrade task was not started; the v3 text has no reason. */
const UPGRADE_REFUSED = 1820

/** Returns what a problem means. Without a code it is about parameters, or about the API process of the node. */
export function errorOfProblem(conversation: Conversation, problem: NodeProblem): V3Error | NoError {
  const { code, detail, status } = problem
  if (code === undefined) return errorWithoutCode(conversation, problem)
  const meaning = meaningOf(code, conversation.translation.errors)
  if (typeof meaning === 'string') return meaning
  return { ...errorOf(meaning, code, detail), ...(code === REFUSED_BY_RIGHTS && { status }) }
}

/** Returns the v3 error of a v4 code that means it. `message`: the text of the v4 layout. */
export function errorOf(meaning: number, code: number, message: string): V3Error {
  const error = v3Error(meaning, message)
  if (code === NOT_READY) return { ...error, message: message.replace(RENAMED_DAEMON, 'ossec-') }
  if (code === UPGRADE_REFUSED) return { ...error, message: cutAtColon(message) }
  return error
}

const TOO_LARGE = 413

function errorWithoutCode(conversation: Conversation, problem: NodeProblem): V3Error | NoError {
  if (problem.status === TOO_LARGE) return v3Error(701)
  if (problem.status >= 500) return v3Error(3)
  // The node does not know the path: its release is older than the translation.
  if (problem.status === 404) return v3Error(603)
  return errorOfParameters(conversation, problem.detail)
}

/** Errors of the v3 layout: code, text and HTTP status. */
export interface V3Error {
  readonly code: number
  readonly message: string
  readonly status: number
}

/** The request is refused before anything is sent, as a node of the v3 layout refuses it. */
export class RefusedError extends Error {
  readonly error: V3Error

  constructor(code: number, detail = '') {
    const error = v3Error(code)
    super(error.message + detail)
    this.name = 'RefusedError'
    this.error = { ...error, message: this.message }
  }
}

/** Returns the error with its v3 text, or with the text of the v4 layout if no v3 one is known. */
export function v3Error(code: number, v4Text = ''): V3Error {
  const known = Object.hasOwn(errorTable, code) ? errorTable[code as ErrorCode] : undefined
  const text = known?.message ?? ownEntry<string>(v3.texts, String(code)) ?? cutAtColon(v4Text)
  return { code, message: text, status: known?.status ?? statusOf(code) }
}

/** Codes below 10 are faults of the API process; those of the framework have status 200. */
function statusOf(code: number): number {
  if (code < 10) return 500
  return code >= 600 && code < 900 ? 400 : 200
}

/** The v3 layout cuts texts at their first colon. */
function cutAtColon(text: string): string {
  return text.split(':')[0] ?? ''
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
  if (UNKNOWN.test(detail)) return withDetail(604, '')
  if (NOT_AN_OBJECT.test(detail)) return withDetail(614, '')
  const minimum = LESS_THAN_MINIMUM.exec(detail)?.[1]
  if (minimum === '0') return withDetail(1406, '')
  if (GREATER_THAN_MAXIMUM.test(detail)) return withDetail(1405, '')
  const name = refusedName(conversation, detail)
  const rule = name === undefined ? undefined : ownEntry(translation.refused, name)
  if (rule !== undefined) return typeof rule === 'number' ? v3Error(rule) : rule
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
