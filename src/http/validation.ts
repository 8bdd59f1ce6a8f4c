/** The schemas of endpoints of the v3 contract, and the errors of validation in its codes and words. */
import { Ajv, type ErrorObject } from 'ajv'
import { parseQuery } from '../collections/grammar.ts'
import type { Body, Endpoint, Field, Param } from '../contracts/endpoint.ts'
import { type Kind, kinds, type ValueKind } from '../contracts/schemas/kinds.ts'
import { describedFields } from '../core/endpoint-names.ts'
import { EdgeError, type ErrorCode, suggestionHeaders } from '../core/errors.ts'
import { printable } from './parameters.ts'

type JsonSchema = Readonly<Record<string, unknown>>

/** The values of a request. */
interface PartsOfRequest {
  readonly params: unknown
  readonly query: unknown
  readonly body?: unknown
}

/**
 * The schemas of an endpoint. Values are text and stay text, so nothing is coerced and nothing removed. Mandatory names are
 * checked afterwards, since an unknown name must be reported first. Equal schemas are one object: Ajv compiles each
 * object once.
 */
type Schemas = Readonly<Partial<Record<keyof PartsOfRequest, JsonSchema>>>

/** Returns the path of an endpoint as the router takes it: a parameter with a `routePattern` matches only such values. */
export function routeUrl({ path, params }: Pick<Endpoint, 'path' | 'params'>): string {
  return Object.entries(params).reduce(
    (url, [name, { routePattern }]) =>
      routePattern === undefined ? url : url.replace(`:${name}`, () => `:${name}(${routePattern})`),
    path,
  )
}

const schemasByEndpoint = new WeakMap<Endpoint, Schemas>()

/** Makes the schemas of an endpoint once. */
function schemasOf(endpoint: Endpoint): Schemas {
  const schemas = schemasByEndpoint.get(endpoint) ?? makeSchemas(endpoint)
  schemasByEndpoint.set(endpoint, schemas)
  return schemas
}

function makeSchemas(endpoint: Endpoint): Schemas {
  const params = Object.entries(endpoint.params)
  return {
    ...(params.length > 0 && { params: valuesSchema(params) }),
    query: shared({
      ...valuesSchema(Object.entries(endpoint.query)),
      additionalProperties: endpoint.contract === 'v3' && !endpoint.strictQuery,
    }),
    ...('body' in endpoint && endpoint.body?.kind === 'fields' && { body: fieldsSchema(endpoint.body) }),
  }
}

const schemas = new Map<string, JsonSchema>()

function shared(schema: JsonSchema): JsonSchema {
  const text = JSON.stringify(schema)
  const known = schemas.get(text)
  if (known !== undefined) return known
  schemas.set(text, schema)
  return schema
}

function valuesSchema(params: [string, Param][]): JsonSchema {
  const properties = Object.fromEntries(params.map(([name, { kind }]) => [name, valueSchema(kind)]))
  return shared({ type: 'object', properties })
}

function fieldsSchema(body: Extract<Body, { kind: 'fields' }>): JsonSchema {
  const fields = Object.entries(body.fields)
  return shared({
    type: 'object',
    properties: Object.fromEntries(fields.map(([name, field]) => [name, fieldSchema(field)])),
    additionalProperties: false,
  })
}

function valueSchema(kind: Kind): JsonSchema {
  const { pattern, maxLength, grammar }: ValueKind = kinds[kind]
  return shared({ type: 'string', maxLength, ...(pattern && { pattern }), ...(grammar && { format: grammar }) })
}

function fieldSchema(field: Field): JsonSchema {
  switch (field.type) {
    case 'integer':
      return shared({ type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
    case 'boolean':
      return shared({ type: 'boolean' })
    case 'strings':
      return listSchema(field)
    case 'string':
      return textSchema(field)
  }
}

/** The number of elements is limited by the size of the body only. */
function listSchema(field: Field): JsonSchema {
  const kind: ValueKind | undefined = field.kind && kinds[field.kind]
  const items = textSchema(kind?.listOf === undefined ? field : { ...field, kind: kind.listOf })
  return shared({ type: 'array', ...(kind?.listOf !== undefined && { minItems: 1 }), items })
}

function textSchema({ kind, maxLength }: Pick<Field, 'kind' | 'maxLength'>): JsonSchema {
  const schema = kind === undefined ? { type: 'string', maxLength: 1024 } : valueSchema(kind)
  return shared(maxLength === undefined ? schema : { ...schema, maxLength })
}

const ajv = new Ajv({
  // A response reports the first error only.
  allErrors: false,
  // The schemas are made here from the catalogue, and tests use all of them. Checking them costs each start 0.2 s.
  meta: false,
  validateSchema: false,
  formats: { query: { type: 'string', validate: (text: string) => parseQuery(text) !== undefined } },
})

/** Throws the error of the contract for the first value that its schema refuses. `body`: absent if it is not read yet. */
export function checkSchemas(endpoint: Endpoint, values: PartsOfRequest): void {
  const schemas = schemasOf(endpoint)
  // The first fault in this order is reported.
  for (const part of ['params', 'body', 'query'] as const) {
    const [schema, value] = [schemas[part], values[part]]
    if (schema === undefined || value === undefined) continue
    // A schema is compiled when it is first used: compiling those of all endpoints would be the larger part of a start.
    const validate = ajv.compile(schema)
    const [error] = validate(value) ? [] : (validate.errors ?? [])
    if (error !== undefined) throw validationError(endpoint, part, error)
  }
}

export type Described = Readonly<Record<string, Param | Field>>

/** Returns the error of the contract for the first error that a schema reports. */
function validationError(endpoint: Endpoint, part: keyof PartsOfRequest, error: ErrorObject): EdgeError {
  const described: Described = part === 'body' ? describedFields(endpoint) : endpoint[part]
  if (error.keyword === 'additionalProperties')
    return unknownName(error.params.additionalProperty, Object.keys(described))
  const name = nameIn(error.instancePath)
  const kind = Object.hasOwn(described, name) ? described[name]?.kind : undefined
  if (kind === undefined) return new EdgeError(614, name === '' ? '' : `  Field: ${printable(name)}`)
  return badValue(kind, name)
}

/** "Param not valid. Integer expected.  Field: limit": two spaces before the field, as the real API writes it. */
export function badValue(kind: Kind, name: string): EdgeError {
  const { code, message } = kinds[kind]
  // A test finds a kind whose code is no error of the edge.
  return new EdgeError(code as ErrorCode, `.${message === '' ? '' : ` ${message}`}  Field: ${printable(name)}`)
}

function unknownName(name: unknown, names: readonly string[]): EdgeError {
  const headers = suggestionHeaders(String(name), names)
  return new EdgeError(604, `. Allowed filters: [ ${names.join('  ')} ]  `, { headers })
}

/** The first segment of a JSON pointer, unescaped (RFC 6901). */
function nameIn(pointer: string): string {
  return (pointer.split('/')[1] ?? '').replaceAll('~1', '/').replaceAll('~0', '~')
}
