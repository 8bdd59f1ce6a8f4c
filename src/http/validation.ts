/** Checks the values of the v3 contract by the records of its endpoints, with errors in its codes and words. */
import { parseQuery } from '../collections/grammar.ts'
import type { Field, Param } from '../contracts/endpoint.ts'
import { type Kind, kinds, type ValueKind } from '../contracts/schemas/kinds.ts'
import { EdgeError, type ErrorCode, suggestionHeaders } from '../core/errors.ts'
import { printable } from './parameters.ts'

export type Described = Readonly<Record<string, Param | Field>>

/**
 * Throws the error of the contract for an unknown name, if there must be none, or else for the first invalid value. Mandatory names
 * are checked afterwards, since an unknown name must be reported first.
 */
export function checkValues(
  described: Described,
  values: Readonly<Record<string, unknown>>,
  mayHaveOthers: boolean,
): void {
  if (!mayHaveOthers) for (const name in values) if (!Object.hasOwn(described, name)) throw unknownName(name, described)
  for (const [name, one] of Object.entries(described)) {
    const value = values[name]
    if (value === undefined || isValid(one, value)) continue
    throw one.kind === undefined ? new EdgeError(614, `  Field: ${printable(name)}`) : badValue(one.kind, name)
  }
}

/** Of a text without a kind. */
const MAX_TEXT_CHARS = 1024

const patterns = new Map(
  Object.entries<ValueKind>(kinds).map(([kind, { pattern = '' }]) => [kind, new RegExp(pattern, 'u')]),
)

type ValueForm = { readonly [Name in 'type' | 'kind' | 'maxLength']?: Field[Name] | undefined }

/** The values of a URL are texts and stay texts. The number of elements of a list is limited by the size of the body only. */
function isValid({ type = 'string', kind, maxLength }: ValueForm, value: unknown): boolean {
  const {
    listOf,
    grammar,
    maxLength: maxCharsOfKind = MAX_TEXT_CHARS,
  }: Partial<ValueKind> = kind === undefined ? {} : kinds[kind]
  switch (type) {
    case 'integer':
      return Number.isSafeInteger(value) && Number(value) >= 0
    case 'boolean':
      return typeof value === 'boolean'
    case 'strings': {
      if (!Array.isArray(value) || (listOf !== undefined && value.length === 0)) return false
      const item = { kind: listOf ?? kind, maxLength }
      return value.every((each) => isValid(item, each))
    }
    case 'string': {
      const maxChars = maxLength ?? maxCharsOfKind
      if (typeof value !== 'string') return false
      // A character may have two code units.
      if (value.length > maxChars && [...value.slice(0, 2 * maxChars + 1)].length > maxChars) return false
      if (kind !== undefined && patterns.get(kind)?.test(value) !== true) return false
      return grammar === undefined || parseQuery(value) !== undefined
    }
  }
}

function unknownName(name: string, described: Described): EdgeError {
  const names = Object.keys(described)
  return new EdgeError(604, `. Allowed filters: [ ${names.join('  ')} ]  `, { headers: suggestionHeaders(name, names) })
}

/** "Param not valid. Integer expected.  Field: limit": two spaces before the field, as the real API writes it. */
export function badValue(kind: Kind, name: string): EdgeError {
  const { code, message } = kinds[kind]
  // A test finds a kind whose code is no error of the edge.
  return new EdgeError(code as ErrorCode, `.${message === '' ? '' : ` ${message}`}  Field: ${printable(name)}`)
}
