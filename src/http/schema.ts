/**
 * The route of an endpoint: its path pattern, and its parameters and body as JSON Schema. Values are text and stay
 * text, so nothing is coerced and nothing removed. Mandatory names are checked afterwards (validation.ts), since an
 * unknown name must be reported first. Equal schemas are one object: Ajv compiles each object once.
 */
import type { Body, Endpoint, Field, Param } from '../catalogue/endpoint.ts'
import { type Kind, kinds, type ValueKind } from '../catalogue/schemas/kinds.ts'

export type JsonSchema = Readonly<Record<string, unknown>>

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
      additionalProperties: !endpoint.strictQuery,
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
