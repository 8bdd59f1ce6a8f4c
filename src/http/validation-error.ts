/** What Ajv found, in the contract's codes and words. */
import type { FastifySchemaValidationError } from 'fastify'
import type { Endpoint, Field, Param } from '../catalogue/endpoint.ts'
import { type Kind, kinds } from '../catalogue/schemas/kinds.ts'
import { EdgeError } from '../errors.ts'
import { printable } from './parameters.ts'

type Part = 'params' | 'querystring' | 'body' | 'headers' | string

/** The error of the contract that the first fault of a request answers. */
export function validationError(endpoint: Endpoint, part: Part, fault: FastifySchemaValidationError): EdgeError {
  const described = describedBy(endpoint, part)
  if (fault.keyword === 'additionalProperties') return unknownName(Object.keys(described))
  if (fault.keyword === 'required') return missing(described, String(fault.params.missingProperty))
  const name = nameIn(fault.instancePath)
  const kind = Object.hasOwn(described, name) ? described[name]?.kind : undefined
  if (kind === undefined) return new EdgeError(614, name === '' ? '' : `  Field: ${printable(name)}`)
  return badValue(kind, name)
}

/** "Param not valid. Integer expected.  Field: limit": two spaces before the field, as the real API writes it. */
export function badValue(kind: Kind, name: string): EdgeError {
  return new EdgeError(kinds[kind].code, `. ${kinds[kind].says}  Field: ${printable(name)}`)
}

function describedBy(endpoint: Endpoint, part: Part): Readonly<Record<string, Param | Field>> {
  if (part === 'params') return endpoint.params
  if (part === 'querystring') return endpoint.query
  return 'body' in endpoint && endpoint.body?.kind === 'fields' ? endpoint.body.fields : {}
}

function unknownName(names: readonly string[]): EdgeError {
  return new EdgeError(604, `. Allowed filters: [ ${names.join('  ')} ]  `)
}

function missing(described: Readonly<Record<string, Param | Field>>, name: string): EdgeError {
  if (described[name]?.required === 706) return new EdgeError(706)
  const mandatory = Object.keys(described).filter((other) => described[other]?.required !== undefined)
  return mandatory.length > 1
    ? new EdgeError(604, `. Missing fields. Mandatory fields: ${mandatory.join(', ')}`)
    : new EdgeError(604, `. Missing field: '${name}'`)
}

/** The first segment of a JSON pointer, unescaped (RFC 6901). */
function nameIn(pointer: string): string {
  return (pointer.split('/')[1] ?? '').replaceAll('~1', '/').replaceAll('~0', '~')
}
