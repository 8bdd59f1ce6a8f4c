/**
 * Names and values of a query or a form, parsed strictly: each name is decoded once, `+` is a space, the values of a
 * repeated name are joined with a comma (as the real API does for lists), nothing is nested and nothing is dropped.
 * Each value then has one canonical form, so that equal requests have one path, one cache key and one response.
 */
import type { Canonical, Endpoint, Field, Param } from '../catalogue/endpoint.ts'
import { kinds, type ValueKind } from '../catalogue/schemas/kinds.ts'
import { EdgeError, type ErrorCode } from '../core/errors.ts'

export type Values = Record<string, string>

export interface ParameterLimits {
  readonly count: number
  /** The error for more parameters: 604 for queries, 607 for forms. They would end the API process of the manager. */
  readonly tooMany: ErrorCode
}

/** Returns an object without a prototype, so that `__proto__` is a name like any other. */
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
    const name = decodeText(equals < 0 ? pair : pair.slice(0, equals))
    const value = equals < 0 ? '' : decodeText(pair.slice(equals + 1))
    const before = values[name]
    values[name] = before === undefined ? value : `${before},${value}`
  }
  return values
}

/**
 * Decodes a name or a value. A text that cannot be decoded stays as it is, as in the real API: `search=100%` searches for
 * `100%`. The text is decoded once and is encoded again for the node, so `%zz` never becomes another text there.
 */
export function decodeText(text: string): string {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text
  try {
    return decodeURIComponent(spaced)
  } catch {
    return spaced
  }
}

/** Returns text of a client as an error message may contain it: at most 100 characters, no control characters. */
export function printable(text: string): string {
  const clean = text.replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, '?')
  return clean.length > 100 ? `${clean.slice(0, 100)}…` : clean
}

/** Parameters that every endpoint takes. They are set if their name is present; the value is ignored (contract). */
export interface Flags {
  readonly pretty: boolean
  readonly waitForComplete: boolean
}

export const NO_FLAGS: Flags = { pretty: false, waitForComplete: false }

/** Removes the flags from a query, before names are checked, and returns them. */
export function takeFlags(values: Values): Flags {
  const flags = { pretty: 'pretty' in values, waitForComplete: 'wait_for_complete' in values }
  delete values.pretty
  delete values.wait_for_complete
  return flags
}

/** `1` and `0001` both mean agent 001 (contract). */
function canonicalAgentId(text: string): string {
  return text.replace(/^0+(?=\d)/, '').padStart(3, '0')
}

const canonicalForms: Readonly<Record<Canonical, (text: string) => string>> = {
  agentId: canonicalAgentId,
  agentIds: (text) => text.split(',').map(canonicalAgentId).join(','),
  agentIdSet: (text) => canonicalSet(text.split(',').map(canonicalAgentId)),
  nameSet: (text) => canonicalSet(text.split(',')),
  lowerCase: (text) => text.toLowerCase(),
}

/** For lists in which neither order nor duplicates have a meaning. */
function canonicalSet(values: readonly string[]): string {
  return [...new Set(values)].sort().join(',')
}

export function canonicalText(canonical: Canonical | undefined, text: string): string {
  return canonical === undefined ? text : canonicalForms[canonical](text)
}

/** Returns the values that the endpoint describes, in the order of the description. */
export function canonicalValues(described: Readonly<Record<string, Param>>, values: Values): Record<string, string> {
  const result: Record<string, string> = {}
  for (const [name, param] of Object.entries(described)) {
    const value = values[name]
    if (value === undefined) continue
    // In a URL, `sort=+name` is decoded to ` name`. Both mean ascending.
    const text = param.kind === 'sort' && value.startsWith(' ') ? `+${value.slice(1)}` : value
    result[name] = canonicalText(param.canonical, text)
  }
  return result
}

/** Returns form fields in the types that the endpoint gives them. Text that does not fit stays text, and validation rejects it. */
export function typedFields(endpoint: Endpoint, values: Values): Record<string, unknown> {
  const fields = 'body' in endpoint && endpoint.body?.kind === 'fields' ? endpoint.body.fields : {}
  const result: Record<string, unknown> = Object.create(null)
  for (const [raw, value] of Object.entries(values)) {
    // Form encoders write lists as `ids[]=001&ids[]=002` or `ids[0]=…`.
    const listed = /^([A-Za-z_]+)\[[0-9]*\]$/.exec(raw)?.[1]
    const name = listed !== undefined && fields[listed]?.type === 'strings' ? listed : raw
    const type = Object.hasOwn(fields, name) ? fields[name]?.type : undefined
    const before = result[name]
    result[name] = Array.isArray(before) ? [...before, ...value.split(',')] : typedValue(type, value)
  }
  return result
}

/**
 * Returns the fields of a JSON body in the types that the endpoint gives them. As in the real API, a number or a Boolean
 * may be a text, an id may be a number, and a list of ids may be a text with commas. Values that do not fit are returned
 * as they are, and validation rejects them.
 */
export function typedJson(endpoint: Endpoint, sent: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const fields = 'body' in endpoint && endpoint.body?.kind === 'fields' ? endpoint.body.fields : {}
  const result: Record<string, unknown> = Object.create(null)
  for (const [name, value] of Object.entries(sent)) {
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined
    result[name] = field === undefined ? value : typedJsonValue(field, value)
  }
  return result
}

function typedJsonValue({ type, kind }: Field, value: unknown): unknown {
  if (type === 'strings') {
    const values: ValueKind | undefined = kind && kinds[kind]
    if (values?.listOf === undefined) return value
    return Array.isArray(value) ? value.map(textOfNumber) : typeof value === 'string' ? value.split(',') : value
  }
  if (type === 'string') return kind === 'numbers' ? textOfNumber(value) : value
  return typeof value === 'string' ? typedValue(type, value) : value
}

function textOfNumber(value: unknown): unknown {
  return typeof value === 'number' ? String(value) : value
}

function typedValue(type: string | undefined, value: string): unknown {
  if (type === 'integer') return /^[0-9]{1,15}$/.test(value) ? Number(value) : value
  if (type === 'boolean') return value === 'true' ? true : value === 'false' ? false : value
  return type === 'strings' ? value.split(',') : value
}
