/**
 * The parameters of a URL or a form. Names and values are parsed strictly: each name is decoded once, `+` is a space, the
 * values of a repeated name are joined with a comma (as the real API does for lists), or are refused; nothing is nested or
 * dropped. Each value then has one canonical form, so that equal requests have one path, one cache key and one response.
 */
import type { Canonical, Param } from '../contracts/endpoint.ts'
import { EdgeError, type ErrorCode } from '../core/errors.ts'

export type Values = Record<string, string>

/** Of a query. */
export const MAX_PARAMETERS = 64

interface ParameterLimits {
  readonly count: number
  /** The error for more parameters: 604 for queries, 607 for forms. They would end the API process of the manager. */
  readonly tooMany: ErrorCode
}

/** Returns an object without a prototype, so that `__proto__` is a name like any other. */
export function parseParameters(
  text: string,
  limits: ParameterLimits,
  separatorOf: (name: string) => string = () => ',',
): Values {
  const values: Values = Object.create(null)
  if (text === '') return values
  const pairs = text.split('&', limits.count + 1)
  if (pairs.length > limits.count) {
    throw new EdgeError(limits.tooMany, `. At most ${limits.count} parameters are read`)
  }
  for (const pair of pairs) {
    if (pair === '') continue
    const [name, value] = decodePair(pair)
    const before = values[name]
    values[name] = before === undefined ? value : before + separatorOf(name) + value
  }
  return values
}

export function decodePair(pair: string): readonly [name: string, value: string] {
  const equals = pair.indexOf('=')
  return equals < 0 ? [decodeText(pair), ''] : [decodeText(pair.slice(0, equals)), decodeText(pair.slice(equals + 1))]
}

/**
 * Decodes a name or a value. A text that cannot be decoded stays as it is, as in the real API: `search=100%` searches for
 * `100%`. The text is decoded once and is encoded again for the node, so `%zz` never becomes another text there.
 */
function decodeText(text: string): string {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text
  try {
    return decodeURIComponent(spaced)
  } catch {
    return spaced
  }
}

/** Returns text of a client as an error message may contain it: at most 100 characters, no control characters. */
export function printable(text: string): string {
  const clean = text.slice(0, 100).replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, '?')
  return text.length > 100 ? `${clean}…` : clean
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
