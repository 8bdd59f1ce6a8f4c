/** Checks the values of a request: each by itself, mandatory names, limits, folders, prefixes, required companions. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Body, Endpoint, Param, PrefixSetting } from '../contracts/endpoint.ts'
import { describedBody } from '../core/endpoint-names.ts'
import { EdgeError } from '../core/errors.ts'
import type { Values } from './parameters.ts'
import { badValue, checkValues, type Described } from './validation.ts'

type Prefixes = Readonly<Record<PrefixSetting, readonly string[]>>

/** The values of a request, or of a URL alone. */
export interface RequestValues {
  readonly params: Values
  readonly query: Values
  readonly headers?: IncomingHttpHeaders
  /** Absent: there is none, or it is not read yet. */
  readonly body?: unknown
}

/**
 * Returns a function that throws an EdgeError for a request with an invalid value. `prefixes`: the values that a parameter with
 * `startsWith` may begin with.
 */
export function createChecks(prefixes: () => Prefixes) {
  return (endpoint: Endpoint, { params, query, headers, body: sent }: RequestValues): void => {
    const described = describedBody(endpoint)
    const body = sent as Values | undefined
    checkValues(endpoint.params, params, true)
    if (body !== undefined && described?.kind === 'fields') checkValues(described.fields, body, false)
    checkValues(endpoint.query, query, endpoint.contract === 'v3' && !endpoint.strictQuery)
    const missing = missingName(endpoint.query, query) ?? (described && body && missingField(described, body))
    if (missing !== undefined) throw missing
    if (endpoint.oneOf !== undefined) checkOneOf(endpoint.oneOf, query)
    for (const [name, param] of Object.entries(endpoint.query)) checkRules(name, param, query, prefixes)
    if (described?.kind === 'upload') checkKindOfFile(described, query, headers?.['content-type'])
  }
}

/** Throws if a rule of a parameter forbids its value: 604, 1405, 1406, or the error of the pattern or of the kind. */
function checkRules(name: string, param: Param, query: Values, prefixes: () => Prefixes): void {
  const value = query[name]
  if (value === undefined) return
  const { kind, requires, within, startsWith, pageLimit } = param
  if (requires !== undefined && query[requires] === undefined)
    throw new EdgeError(604, `. Missing field: '${requires}'`)
  if (within !== undefined && !new RegExp(within.pattern).test(value)) throw new EdgeError(within.code)
  if (startsWith !== undefined && !hasAllowedPrefix(value, prefixes()[startsWith])) throw badValue(kind, name)
  if (pageLimit === undefined) return
  // The manager rejects 0 everywhere, and pages of more than 1000 rows where the record has a maximum.
  if (/^0+$/.test(value)) throw new EdgeError(1406)
  if (pageLimit.max !== undefined && Number(value) > pageLimit.max) throw new EdgeError(1405)
}

/** Returns whether a value begins with a prefix. A value that `..` may lead out of its folder does not. */
function hasAllowedPrefix(value: string, prefixes: readonly string[]): boolean {
  return prefixes.some((prefix) => isWithin(value, prefix)) && !value.split(/[/\\]/).includes('..')
}

/** A prefix without a slash at its end is a whole name: `files.example` is no prefix of `files.example.org`. */
function isWithin(value: string, prefix: string): boolean {
  return value.startsWith(prefix) && (prefix.endsWith('/') || ['/', undefined].includes(value[prefix.length]))
}

/** The media type selects the check of a file, so the sender must not choose it: a rule sent as a list would be read as XML. */
function checkKindOfFile({ xmlWhen }: Extract<Body, { kind: 'upload' }>, query: Values, type?: string): void {
  if (xmlWhen === undefined) return
  const isXml = new RegExp(xmlWhen.matches).test(query[xmlWhen.query] ?? '')
  if (isXml === (type === 'application/xml')) return
  throw isXml
    ? new EdgeError(703, '. A file of this folder is XML; send application/xml')
    : new EdgeError(705, '. A file of this folder is a list; send application/octet-stream')
}

function checkOneOf(names: readonly string[], query: Values): void {
  if (names.some((name) => query[name] !== undefined)) return
  const [first, ...others] = names
  throw new EdgeError(604, `. Missing field: You have to specified '${first}' or ${others.join(', ')}.`)
}

function missingField(body: Body, values: Readonly<Record<string, unknown>>): EdgeError | undefined {
  return body.kind === 'fields' ? missingName(body.fields, values, body.namedAsMandatory) : undefined
}

/**
 * The first mandatory name that is missing, in the words of the contract, which lists all mandatory names if there are
 * several. `listed`: the names in that list.
 */
function missingName(
  described: Described,
  values: Readonly<Record<string, unknown>>,
  listed?: readonly string[],
): EdgeError | undefined {
  for (const [missing, { required }] of Object.entries(described)) {
    if (required === undefined || values[missing] !== undefined) continue
    if (required === 706) return new EdgeError(706)
    const mandatory = Object.keys(described).filter((name) => described[name]?.required !== undefined)
    return mandatory.length > 1
      ? new EdgeError(604, `. Missing fields. Mandatory fields: ${(listed ?? mandatory).join(', ')}`)
      : new EdgeError(604, `. Missing field: '${missing}'`)
  }
  return undefined
}
