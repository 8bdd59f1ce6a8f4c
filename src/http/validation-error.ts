/** What Ajv found, in the contract's codes and words. */
import type { FastifySchemaValidationError } from 'fastify'
import type { Endpoint, Field, Param } from '../catalogue/endpoint.ts'
import { type Kind, kinds } from '../catalogue/schemas/kinds.ts'
import { EdgeError } from '../core/errors.ts'
import { printable } from './parameters.ts'

type Described = Readonly<Record<string, Param | Field>>
type Part = 'params' | 'querystring' | 'body' | 'headers' | string

/** The error of the contract that the first fault of a request answers. */
export function validationError(endpoint: Endpoint, part: Part, fault: FastifySchemaValidationError): EdgeError {
  const described = describedBy(endpoint, part)
  if (fault.keyword === 'additionalProperties') return unknownName(Object.keys(described))
  const name = nameIn(fault.instancePath)
  const kind = Object.hasOwn(described, name) ? described[name]?.kind : undefined
  if (kind === undefined) return new EdgeError(614, name === '' ? '' : `  Field: ${printable(name)}`)
  return badValue(kind, name)
}

/** "Param not valid. Integer expected.  Field: limit": two spaces before the field, as the real API writes it. */
export function badValue(kind: Kind, name: string): EdgeError {
  return new EdgeError(kinds[kind].code, `. ${kinds[kind].says}  Field: ${printable(name)}`)
}

export function describedBy(endpoint: Endpoint, part: Part): Described {
  if (part === 'params') return endpoint.params
  if (part === 'querystring') return endpoint.query
  return 'body' in endpoint && endpoint.body?.kind === 'fields' ? endpoint.body.fields : {}
}

function unknownName(names: readonly string[]): EdgeError {
  return new EdgeError(604, `. Allowed filters: [ ${names.join('  ')} ]  `)
}

/** The first mandatory name that is not there, in the contract's words; all of them are listed where there are several. */
export function missingName(described: Described, values: Readonly<Record<string, unknown>>): EdgeError | undefined {
  const mandatory = Object.keys(described).filter((name) => described[name]?.required !== undefined)
  const missing = mandatory.find((name) => values[name] === undefined)
  if (missing === undefined) return undefined
  if (described[missing]?.required === 706) return new EdgeError(706)
  return mandatory.length > 1
    ? new EdgeError(604, `. Missing fields. Mandatory fields: ${mandatory.join(', ')}`)
    : new EdgeError(604, `. Missing field: '${missing}'`)
}

/** The first segment of a JSON pointer, unescaped (RFC 6901). */
function nameIn(pointer: string): string {
  return (pointer.split('/')[1] ?? '').replaceAll('~1', '/').replaceAll('~0', '~')
}
