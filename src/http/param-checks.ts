/** Checks the values of a request: each by itself, mandatory names, limits, folders, prefixes, required companions. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Body, Endpoint, Param, PrefixSetting } from '../contracts/endpoint.ts'
import { describedBody } from '../core/endpoint-names.ts'
import { EdgeError } from '../core/errors.ts'
import type { Values } from './parameters.ts'
import { badValue, checkValues, type Described } from './validation.ts'

export type Prefixes = Readonly<Record<PrefixSetting, readonly string[]>>

type CheckParam = (param: Param, value: string, name: string, query: Values) => EdgeError | undefined

/**
 * Returns a function that throws an EdgeError for a request with an invalid value. `prefixes`: the values that a parameter with
 * `startsWith` may begin with. `headers`: of a body; `body`: absent if it is not read yet.
 */
export function createChecks(prefixes: () => Prefixes) {
  const checkPrefix: CheckParam = (param, value, name) => {
    if (param.startsWith === undefined) return undefined
    const fits = prefixes()[param.startsWith].some((prefix) => isWithin(value, prefix))
    return fits && !value.split(/[/\\]/).includes('..') ? undefined : badValue(param.kind, name)
  }
  const checks: readonly CheckParam[] = [checkCompanion, checkPattern, checkPrefix, checkPageLimit]
  return (endpoint: Endpoint, params: Values, query: Values, headers?: IncomingHttpHeaders, body?: Values): void => {
    const described = describedBody(endpoint)
    checkValues(endpoint.params, params, true)
    if (body !== undefined && described?.kind === 'fields') checkValues(described.fields, body, false)
    checkValues(endpoint.query, query, endpoint.contract === 'v3' && !endpoint.strictQuery)
    const missing = missingName(endpoint.query, query) ?? (described && body && missingField(described, body))
    if (missing !== undefined) throw missing
    if (endpoint.oneOf !== undefined) checkOneOf(endpoint.oneOf, query)
    for (const [name, param] of Object.entries(endpoint.query)) {
      const value = query[name]
      if (value === undefined) continue
      for (const check of checks) {
        const error = check(param, value, name, query)
        if (error !== undefined) throw error
      }
    }
    if (described?.kind === 'upload') checkKindOfFile(described, query, headers?.['content-type'])
  }
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

const checkCompanion: CheckParam = (param, _value, _name, query) =>
  param.requires !== undefined && query[param.requires] === undefined
    ? new EdgeError(604, `. Missing field: '${param.requires}'`)
    : undefined

const checkPattern: CheckParam = (param, value) =>
  param.within !== undefined && !new RegExp(param.within.pattern).test(value)
    ? new EdgeError(param.within.code)
    : undefined

/** The manager rejects 0 everywhere, and pages of more than 1000 rows where the record has a maximum. No request is needed for that. */
const checkPageLimit: CheckParam = (param, value) => {
  if (param.pageLimit === undefined) return undefined
  if (/^0+$/.test(value)) return new EdgeError(1406)
  return param.pageLimit.max !== undefined && Number(value) > param.pageLimit.max ? new EdgeError(1405) : undefined
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
