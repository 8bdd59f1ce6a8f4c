/** Illegal values, and legal values that name no object. */
import { contract } from '../facts.ts'

const illegal: Readonly<Record<string, string>> = {
  numbers: '1x',
  array_numbers: '1,x',
  names: 'a b',
  array_names: 'a,b c',
  paths: 'a b',
  dates: 'tomorrow',
  ips: '10.0.0.256',
  alphanumeric: 'a;b',
  sort: 'a;b',
  search: 'a;b',
  select: 'a b',
  ranges: 'high',
  hashes: 'none',
  timeframe: '7w',
  empty_boolean: 'maybe',
  yes_no: 'maybe',
  boolean: 'maybe',
  query: 'id',
  format: 'yaml',
}

/** The release writes a text in place of this code (docs/contract-decisions.md). */
const UNNAMED_CODE = 623

export interface Illegal {
  readonly value: string
  readonly error: number
}

/** Returns an illegal value for a validator of the contract; undefined if every value is legal. */
export function illegalFor(validator: string): Illegal | undefined {
  if (validator === 'flag') return undefined
  // Four endpoints of the release do not check the name of the node; the edge does.
  const kind = validator.startsWith('none') ? 'names' : validator
  const value = illegal[kind]
  const error = contract.meta.validators[kind]?.error
  if (value === undefined || error === undefined) throw new Error(`no illegal value for ${validator}`)
  return { value, error: typeof error === 'number' ? error : UNNAMED_CODE }
}

/** Values in paths that are legal and name nothing. */
export const unknownNames: Readonly<Record<string, string>> = {
  agent_id: '999',
  rule_id: '999999',
}
export const UNKNOWN = 'nosuch'

/** Fields of bodies, each with an illegal value. The contract describes their checks in prose. */
export const illegalFields: Readonly<Record<string, { readonly value: unknown; readonly error: number }>> = {
  name: { value: 'a b', error: 601 },
  ip: { value: '10.0.0.256', error: 606 },
  force: { value: 'soon', error: 600 },
  id: { value: '1x', error: 600 },
  key: { value: 'a-b', error: 615 },
  ids: { value: ['1', 'x'], error: 616 },
  command: { value: '!../x', error: 608 },
  custom: { value: 'maybe', error: 618 },
  arguments: { value: { a: 1 }, error: 614 },
}
