/** What a record says beyond the form of one value: mandatory names, bounds, folders, prefixes, companions. */
import type { Endpoint, Param, PrefixSetting } from '../catalogue/endpoint.ts'
import { EdgeError } from '../errors.ts'
import type { Values } from './parameters.ts'
import { badValue, describedBy, missingName } from './validation-error.ts'

export type Prefixes = Readonly<Record<PrefixSetting, readonly string[]>>

type Check = (param: Param, value: string, name: string, query: Values) => EdgeError | undefined

/** Configured once: gives the function that refuses what the schemas of query and body cannot say. */
export function furtherChecks(prefixes: Prefixes): (endpoint: Endpoint, query: Values, body: unknown) => void {
  const startsWith: Check = (param, value, name) => {
    if (param.startsWith === undefined) return undefined
    const fits = prefixes[param.startsWith].some((prefix) => value.startsWith(prefix))
    return fits && !value.split(/[/\\]/).includes('..') ? undefined : badValue(param.kind, name)
  }
  const checks: readonly Check[] = [needs, within, startsWith, pageLimit]
  return (endpoint, query, body) => {
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
  }
}

function requireOneOf(endpoint: Endpoint, query: Values): void {
  if (endpoint.oneOf === undefined || endpoint.oneOf.some((name) => query[name] !== undefined)) return
  const [first, ...others] = endpoint.oneOf
  throw new EdgeError(604, `. Missing field: You have to specified '${first}' or ${others.join(', ')}.`)
}

const needs: Check = (param, _value, _name, query) =>
  param.needs !== undefined && query[param.needs] === undefined
    ? new EdgeError(604, `. Missing field: '${param.needs}'`)
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
