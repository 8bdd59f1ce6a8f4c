/** What a record says beyond the form of one value: mandatory names, bounds, folders, prefixes, companions. */
import type { Endpoint, Param, PrefixSetting } from '../catalogue/endpoint.ts'
import { EdgeError } from '../core/errors.ts'
import type { Values } from './parameters.ts'
import { badValue, describedBy, missingName } from './validation-error.ts'

export type Prefixes = Readonly<Record<PrefixSetting, readonly string[]>>

type Check = (param: Param, value: string, name: string, query: Values) => EdgeError | undefined

/** Configured once: gives the function that refuses what the schemas of query and body cannot say. */
export function furtherChecks(
  prefixes: Prefixes,
): (endpoint: Endpoint, query: Values, body: unknown, type: string | undefined) => void {
  const startsWith: Check = (param, value, name) => {
    if (param.startsWith === undefined) return undefined
    const fits = prefixes[param.startsWith].some((prefix) => isWithin(value, prefix))
    return fits && !value.split(/[/\\]/).includes('..') ? undefined : badValue(param.kind, name)
  }
  const checks: readonly Check[] = [needs, within, startsWith, pageLimit]
  return (endpoint, query, body, type) => {
    const missing =
      missingName(endpoint.query, query) ?? missingName(describedBy(endpoint, 'body'), (body ?? {}) as Values)
    if (missing !== undefined) throw missing
    requireOneOf(endpoint, query)
    for (const [name, param] of Object.entries(endpoint.query)) {
      const value = query[name]
      if (value === undefined) continue
      for (const check of checks) {
        const fault = check(param, value, name, query)
        if (fault !== undefined) throw fault
      }
    }
    const misplaced = fileOfOtherKind(endpoint, query, type)
    if (misplaced !== undefined) throw misplaced
  }
}

/** A prefix without a slash at its end is a whole name: `files.example` is not the beginning of `files.example.org`. */
function isWithin(value: string, prefix: string): boolean {
  return value.startsWith(prefix) && (prefix.endsWith('/') || ['/', undefined].includes(value[prefix.length]))
}

/** The type chooses how a file is checked, so it must not be the sender's choice: a rule sent as a list would be read as XML. */
function fileOfOtherKind(endpoint: Endpoint, query: Values, type: string | undefined): EdgeError | undefined {
  const body = 'body' in endpoint ? endpoint.body : undefined
  if (body?.kind !== 'upload' || body.xmlWhen === undefined) return undefined
  const isXml = new RegExp(body.xmlWhen.matches).test(query[body.xmlWhen.query] ?? '')
  if (isXml === (type === 'application/xml')) return undefined
  return isXml
    ? new EdgeError(703, '. A file of this folder is XML; send application/xml')
    : new EdgeError(705, '. A file of this folder is a list; send application/octet-stream')
}

function requireOneOf(endpoint: Endpoint, query: Values): void {
  if (endpoint.oneOf === undefined || endpoint.oneOf.some((name) => query[name] !== undefined)) return
  const [first, ...others] = endpoint.oneOf
  throw new EdgeError(604, `. Missing field: You have to specified '${first}' or ${others.join(', ')}.`)
}

const needs: Check = (param, _value, _name, query) =>
  param.requires !== undefined && query[param.requires] === undefined
    ? new EdgeError(604, `. Missing field: '${param.requires}'`)
    : undefined

const within: Check = (param, value) =>
  param.within !== undefined && !new RegExp(param.within.pattern).test(value)
    ? new EdgeError(param.within.code)
    : undefined

/** The framework refuses 0 everywhere and, but for lists, pages over 1000: no interpreter needs to wake for that. */
const pageLimit: Check = (param, value) => {
  if (param.pageLimit === undefined) return undefined
  if (/^0+$/.test(value)) return new EdgeError(1406)
  return param.pageLimit.max !== undefined && Number(value) > param.pageLimit.max ? new EdgeError(1405) : undefined
}
