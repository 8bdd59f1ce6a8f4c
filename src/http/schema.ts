import type { Body, Endpoint, Field, Param } from '../catalogue/endpoint.ts'
import { type Kind, kinds, type ValueKind } from '../catalogue/schemas/kinds.ts'

/**
 * A record's parameters and body as JSON Schema, for Fastify's own Ajv. Values are text and stay text, so
 * nothing is coerced and nothing removed. What is mandatory is checked afterwards (further-checks.ts), since an
 * unknown name is to be told first. Equal schemas are one object: each distinct one is compiled.
 */

export type JsonSchema = Readonly<Record<string, unknown>>

export interface RouteSchema {
  readonly params?: JsonSchema
  readonly querystring?: JsonSchema
  readonly body?: JsonSchema
}

const known = new Map<string, JsonSchema>()

function shared(schema: JsonSchema): JsonSchema {
  const text = JSON.stringify(schema)
  const before = known.get(text)
  if (before !== undefined) return before
  known.set(text, schema)
  return schema
}

export function routeSchema(endpoint: Endpoint): RouteSchema {
  const params = Object.entries(endpoint.params)
  return {
    ...(params.length > 0 && { params: objectOf(params.map(([name, param]) => [name, valueSchema(param.kind)])) }),
    querystring: shared({ ...querySchema(endpoint), additionalProperties: !endpoint.strictQuery }),
    ...('body' in endpoint && endpoint.body?.kind === 'fields' && { body: fieldsSchema(endpoint.body) }),
  }
}

function querySchema(endpoint: Endpoint): JsonSchema {
  const query: [string, Param][] = Object.entries(endpoint.query)
  return {
    type: 'object',
    properties: Object.fromEntries(query.map(([name, param]) => [name, valueSchema(param.kind)])),
  }
}

function fieldsSchema(body: Extract<Body, { kind: 'fields' }>): JsonSchema {
  const fields = Object.entries(body.fields)
  return shared({
    type: 'object',
    properties: Object.fromEntries(fields.map(([name, field]) => [name, fieldSchema(field)])),
    additionalProperties: false,
  })
}

function objectOf(properties: [string, JsonSchema][]): JsonSchema {
  return shared({ type: 'object', properties: Object.fromEntries(properties) })
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
      return shared({ type: 'array', maxItems: field.maxItems ?? 1000, items: textSchema(field) })
    case 'string':
      return textSchema(field)
  }
}

/** The kind of each element of a list of the given kind. */
const elementOf: Partial<Record<Kind, Kind>> = { array_numbers: 'numbers', array_names: 'names' }

function textSchema(field: Field): JsonSchema {
  const kind = field.kind && ((field.type === 'strings' && elementOf[field.kind]) || field.kind)
  const schema = kind === undefined ? { type: 'string', maxLength: 1024 } : valueSchema(kind)
  return shared(field.maxLength === undefined ? schema : { ...schema, maxLength: field.maxLength })
}

/** The path of a record as the router takes it. */

/** A parameter that takes some values alone stands with its pattern; the router tries it before one that takes any. */
export function routeUrl({ path, params }: Pick<Endpoint, 'path' | 'params'>): string {
  return Object.entries(params).reduce(
    (url, [name, { routePattern: routed }]) =>
      routed === undefined ? url : url.replace(`:${name}`, () => `:${name}(${routed})`),
    path,
  )
}
