import type { Canonical, Endpoint, Param } from '../catalogue/endpoint.ts'
import { EdgeError, type ErrorCode } from '../core/errors.ts'

/**
 * Names and values of a query or a form, read strictly: each name is decoded once, `+` is a space, repeated
 * names are joined with a comma (as the real API does for lists), nothing is nested and nothing is lost.
 */

export type Values = Record<string, string>

export interface ParameterLimits {
  readonly count: number
  /** What more of them answer (604 for queries, 607 for forms: those would end the manager's API process). */
  readonly tooMany: ErrorCode
}

/** Gives an object without a prototype, so that `__proto__` is a name like any other. */
export function parseParameters(text: string, limits: ParameterLimits): Values {
  const values: Values = Object.create(null)
  if (text === '') return values
  const pairs = text.split('&', limits.count + 1)
  if (pairs.length > limits.count) {
    throw new EdgeError(limits.tooMany, `. At most ${limits.count} parameters are read`)
  }
  for (const pair of pairs) {
    if (pair === '') continue
    const equals = pair.indexOf('=')
    const name = decodeName(equals < 0 ? pair : pair.slice(0, equals))
    const value = decodeValue(name, equals < 0 ? '' : pair.slice(equals + 1))
    const before = values[name]
    values[name] = before === undefined ? value : `${before},${value}`
  }
  return values
}

/** A name that cannot be decoded stays as it is: no record knows it, so it is refused as unknown. */
function decodeName(text: string): string {
  try {
    return decode(text)
  } catch {
    return text
  }
}

function decodeValue(name: string, text: string): string {
  try {
    return decode(text)
  } catch (cause) {
    throw new EdgeError(604, `. The value cannot be decoded.  Field: ${printable(name)}`, { cause })
  }
}

function decode(text: string): string {
  return decodeURIComponent(text.includes('+') ? text.replaceAll('+', ' ') : text)
}

/** What of a foreign text may stand in a message: short, and without control characters. */
export function printable(text: string): string {
  const clean = text.replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, '?')
  return clean.length > 100 ? `${clean.slice(0, 100)}…` : clean
}

/** Flags that stand beside every endpoint's own parameters; their value does not count (contract, semantics.md 1). */
export interface Flags {
  readonly pretty: boolean
  readonly waitForComplete: boolean
}

export const noFlags: Flags = { pretty: false, waitForComplete: false }

/** Takes the flags out of a query, before names are checked. */
export function takeFlags(values: Values): Flags {
  const flags = { pretty: 'pretty' in values, waitForComplete: 'wait_for_complete' in values }
  delete values.pretty
  delete values.wait_for_complete
  return flags
}

/** Each value in its one canonical form, so that equal requests share a path, a key and a node's answer. */

/** `1` and `0001` both mean agent 001 (contract, semantics.md section 2, Ids). */
export function agentId(text: string): string {
  return text.replace(/^0+(?=\d)/, '').padStart(3, '0')
}

const forms: Readonly<Record<Canonical, (text: string) => string>> = {
  agentId,
  agentIds: (text) => text.split(',').map(agentId).join(','),
  agentIdSet: (text) => set(text.split(',').map(agentId)),
  nameSet: (text) => set(text.split(',')),
  lowerCase: (text) => text.toLowerCase(),
}

/** Where neither order nor doubles mean anything. */
function set(values: readonly string[]): string {
  return [...new Set(values)].sort().join(',')
}

export function canonicalText(canonical: Canonical | undefined, text: string): string {
  return canonical === undefined ? text : forms[canonical](text)
}

/** Only what the record knows, in the record's order. */
export function canonicalValues(described: Readonly<Record<string, Param>>, values: Values): Record<string, string> {
  const result: Record<string, string> = {}
  for (const [name, param] of Object.entries(described)) {
    const value = values[name]
    if (value === undefined) continue
    // ` name` is what `sort=+name` becomes on its way through a URL; both mean ascending.
    const text = param.kind === 'sort' && value.startsWith(' ') ? `+${value.slice(1)}` : value
    result[name] = canonicalText(param.canonical, text)
  }
  return result
}

/** Form texts in the types that the record gives its fields; what does not fit stays text and is refused by the schema. */
export function typedFields(endpoint: Endpoint, values: Values): Record<string, unknown> {
  const fields = 'body' in endpoint && endpoint.body?.kind === 'fields' ? endpoint.body.fields : {}
  const result: Record<string, unknown> = Object.create(null)
  for (const [raw, value] of Object.entries(values)) {
    // `ids[]=001&ids[]=002` and `ids[0]=…` are how form encoders write lists.
    const listed = /^([A-Za-z_]+)\[[0-9]*\]$/.exec(raw)?.[1]
    const name = listed !== undefined && fields[listed]?.type === 'strings' ? listed : raw
    const type = Object.hasOwn(fields, name) ? fields[name]?.type : undefined
    const before = result[name]
    result[name] = Array.isArray(before) ? [...before, ...value.split(',')] : typed(type, value)
  }
  return result
}

function typed(type: string | undefined, value: string): unknown {
  if (type === 'integer') return /^[0-9]{1,15}$/.test(value) ? Number(value) : value
  if (type === 'boolean') return value === 'true' ? true : value === 'false' ? false : value
  return type === 'strings' ? value.split(',') : value
}
