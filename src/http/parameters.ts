/**
 * Names and values of a query or a form, read strictly: each name is decoded once, `+` is a space, repeated
 * names are joined with a comma (as the real API does for lists), nothing is nested and nothing is lost.
 */
import { EdgeError, type ErrorCode } from '../core/errors.ts'

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
