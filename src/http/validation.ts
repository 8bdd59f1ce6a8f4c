/**
 * The schemas of routes and their validators, checks of an endpoint that a schema cannot express (mandatory names,
 * limits, folders, prefixes, required companions), and the errors of all validation in the codes and words of the
 * contract.
 */
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import type { FastifySchemaValidationError } from 'fastify'
import { parseQuery } from '../collections/grammar.ts'
import type { Body, Endpoint, Field, Param, PrefixSetting } from '../contracts/endpoint.ts'
import { type Kind, kinds, type ValueKind } from '../contracts/schemas/kinds.ts'
import { describedBody, describedFields } from '../core/endpoint-names.ts'
import { EdgeError, type ErrorCode, suggestionHeaders } from '../core/errors.ts'
import { printable, type Values } from './parameters.ts'

export type JsonSchema = Readonly<Record<string, unknown>>

/**
 * The schemas of a route. Values are text and stay text, so nothing is coerced and nothing removed. Mandatory names are
 * checked afterwards, since an unknown name must be reported first. Equal schemas are one object: Ajv compiles each
 * object once.
 */
export interface RouteSchema {
  readonly params?: JsonSchema
  readonly querystring: JsonSchema
  readonly body?: JsonSchema
}

/** Returns the path of an endpoint as the router takes it: a parameter with a `routePattern` matches only such values. */
export function routeUrl({ path, params }: Pick<Endpoint, 'path' | 'params'>): string {
  return Object.entries(params).reduce(
    (url, [name, { routePattern }]) =>
      routePattern === undefined ? url : url.replace(`:${name}`, () => `:${name}(${routePattern})`),
    path,
  )
}

const routeSchemas = new WeakMap<Endpoint, RouteSchema>()

/** Makes the schemas of an endpoint once, for the routes of Fastify and for `resolveUrl`. */
export function routeSchema(endpoint: Endpoint): RouteSchema {
  const schema = routeSchemas.get(endpoint) ?? makeRouteSchema(endpoint)
  routeSchemas.set(endpoint, schema)
  return schema
}

function makeRouteSchema(endpoint: Endpoint): RouteSchema {
  const params = Object.entries(endpoint.params)
  return {
    ...(params.length > 0 && { params: valuesSchema(params) }),
    querystring: shared({
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
  formats: { query: { type: 'string', validate: (text: string) => parseQuery(text).ok } },
})

/** Returns whether a value matches a schema; then `errors` are those of the last call. */
interface Validator {
  (value: unknown): boolean
  errors?: ErrorObject[] | null
}

const validators = new WeakMap<JsonSchema, Validator>()

/**
 * Returns the validator of a schema, and the same function for the same object. The schema is compiled when the validator
 * is first called: compiling those of all endpoints would be the larger part of a start.
 */
export function validatorOf(schema: JsonSchema): Validator {
  const known = validators.get(schema)
  if (known !== undefined) return known
  let compiled: ValidateFunction | undefined
  const validate: Validator = (value) => {
    compiled ??= ajv.compile(schema)
    const isValid = compiled(value)
    validate.errors = compiled.errors ?? null
    return isValid
  }
  validators.set(schema, validate)
  return validate
}

export type Prefixes = Readonly<Record<PrefixSetting, readonly string[]>>

type CheckParam = (param: Param, value: string, name: string, query: Values) => EdgeError | undefined

/**
 * Returns a function that throws an EdgeError for a request that passes the schemas and is invalid all the same. `prefixes`:
 * the values that a parameter with `startsWith` may begin with; `type`: of the body; `body`: absent if it is not read yet.
 */
export function createChecks(prefixes: () => Prefixes) {
  const checkPrefix: CheckParam = (param, value, name) => {
    if (param.startsWith === undefined) return undefined
    const fits = prefixes()[param.startsWith].some((prefix) => isWithin(value, prefix))
    return fits && !value.split(/[/\\]/).includes('..') ? undefined : badValue(param.kind, name)
  }
  const checks: readonly CheckParam[] = [checkCompanion, checkPattern, checkPrefix, checkPageLimit]
  return (endpoint: Endpoint, query: Values, type: string | undefined, body?: Values): void => {
    const missing = missingName(endpoint.query, query) ?? (body && missingField(endpoint, body))
    if (missing !== undefined) throw missing
    checkOneOf(endpoint, query)
    for (const [name, param] of Object.entries(endpoint.query)) {
      const value = query[name]
      if (value === undefined) continue
      for (const check of checks) {
        const error = check(param, value, name, query)
        if (error !== undefined) throw error
      }
    }
    const misplaced = fileOfOtherKind(endpoint, query, type)
    if (misplaced !== undefined) throw misplaced
  }
}

/** A prefix without a slash at its end is a whole name: `files.example` is no prefix of `files.example.org`. */
function isWithin(value: string, prefix: string): boolean {
  return value.startsWith(prefix) && (prefix.endsWith('/') || ['/', undefined].includes(value[prefix.length]))
}

/** The media type selects the check of a file, so the sender must not choose it: a rule sent as a list would be read as XML. */
function fileOfOtherKind(endpoint: Endpoint, query: Values, type: string | undefined): EdgeError | undefined {
  const body = describedBody(endpoint)
  if (body?.kind !== 'upload' || body.xmlWhen === undefined) return undefined
  const isXml = new RegExp(body.xmlWhen.matches).test(query[body.xmlWhen.query] ?? '')
  if (isXml === (type === 'application/xml')) return undefined
  return isXml
    ? new EdgeError(703, '. A file of this folder is XML; send application/xml')
    : new EdgeError(705, '. A file of this folder is a list; send application/octet-stream')
}

function checkOneOf(endpoint: Endpoint, query: Values): void {
  if (endpoint.oneOf === undefined || endpoint.oneOf.some((name) => query[name] !== undefined)) return
  const [first, ...others] = endpoint.oneOf
  throw new EdgeError(604, `. Missing field: You have to specified '${first}' or ${others.join(', ')}.`)
}

const checkCompanion: CheckParam = (param, _value, _name, query) =>
  param.requires !== undefined && query[param.requires] === undefined
    ? new EdgeError(604, `. Missing field: '${param.requires}'`)
    : undefined

const checkPattern: CheckParam = (param, value) =>
  param.within !== undefined && !new RegExp(param.within.pattern).test(value)
    ? new EdgeError(param.within.code)
    : undefined

/** The manager rejects 0 everywhere, and pages of more than 1000 rows where the record has a maximum. No request is needed for that. */
const checkPageLimit: CheckParam = (param, value) => {
  if (param.pageLimit === undefined) return undefined
  if (/^0+$/.test(value)) return new EdgeError(1406)
  return param.pageLimit.max !== undefined && Number(value) > param.pageLimit.max ? new EdgeError(1405) : undefined
}

export type SchemaError = Pick<FastifySchemaValidationError, 'keyword' | 'instancePath' | 'params'>

type Described = Readonly<Record<string, Param | Field>>
type Part = 'params' | 'querystring' | 'body' | 'headers' | string

/** Returns the error of the contract for the first error that a schema reports. */
export function validationError(endpoint: Endpoint, part: Part, error: SchemaError): EdgeError {
  const described = describedBy(endpoint, part)
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

function describedBy(endpoint: Endpoint, part: Part): Described {
  if (part === 'params') return endpoint.params
  if (part === 'querystring') return endpoint.query
  return describedFields(endpoint)
}

function unknownName(name: unknown, names: readonly string[]): EdgeError {
  const headers = suggestionHeaders(String(name), names)
  return new EdgeError(604, `. Allowed filters: [ ${names.join('  ')} ]  `, { headers })
}

function missingField(endpoint: Endpoint, values: Readonly<Record<string, unknown>>): EdgeError | undefined {
  const body = describedBody(endpoint)
  return body?.kind === 'fields' ? missingName(body.fields, values, body.namedAsMandatory) : undefined
}

/**
 * The first mandatory name that is missing, in the words of the contract, which lists all mandatory names if there are
 * several. `listed`: the names in that list.
 */
function missingName(
  described: Described,
  values: Readonly<Record<string, unknown>>,
  listed?: readonly string[],
): EdgeError | undefined {
  const mandatory = Object.keys(described).filter((name) => described[name]?.required !== undefined)
  const missing = mandatory.find((name) => values[name] === undefined)
  if (missing === undefined) return undefined
  if (described[missing]?.required === 706) return new EdgeError(706)
  return mandatory.length > 1
    ? new EdgeError(604, `. Missing fields. Mandatory fields: ${(listed ?? mandatory).join(', ')}`)
    : new EdgeError(604, `. Missing field: '${missing}'`)
}

/** The first segment of a JSON pointer, unescaped (RFC 6901). */
function nameIn(pointer: string): string {
  return (pointer.split('/')[1] ?? '').replaceAll('~1', '/').replaceAll('~0', '~')
}
