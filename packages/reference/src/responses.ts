/**
 * Responses of the OpenAPI document: envelopes, the errors of the edge and of the manager, and the named schemas of data:
 * what the records name, and everything that these refer to.
 */
import type { Endpoint } from '../../../src/contracts/endpoint.ts'
import { errorTable } from '../../../src/core/errors.ts'
import { allCodes, edgeCodes, failureCodes, managerCodes, otherRefusals, requestCodes } from './error-codes.ts'
import managerErrors from './manager-errors.json' with { type: 'json' }
import { type Json, sentences } from './parameters.ts'
import { type Schema, schemaOf, schemas } from './schemas.ts'

const PREFIX = '#/components/schemas/'
const refTo = (name: string): Json => ({ $ref: PREFIX + name })

/** `error` distinguishes success (0) and failure: types of a client are narrowed by comparing it with 0. */
export function failureSchemas(): Readonly<Record<string, Json>> {
  return {
    ErrorCode: {
      type: 'integer',
      description: 'Known codes. 900 to 949 are errors of the edge. A later release of the manager may have more.',
      enum: allCodes,
    },
    Failure: {
      type: 'object',
      required: ['error', 'message'],
      properties: { error: refTo('ErrorCode'), message: { type: 'string', description: 'A sentence in English.' } },
      additionalProperties: false,
    },
    FailedNode: {
      type: 'object',
      required: ['node', 'error'],
      properties: {
        node: { type: 'string' },
        error: {
          type: 'object',
          required: ['code', 'message'],
          properties: { code: { type: 'integer' }, message: { type: 'string' } },
        },
      },
    },
  }
}

/** The content of an error. Its example is the first of the codes. */
function failureContent([first = 949]: readonly number[], schema: Json = refTo('Failure')): Json {
  const { message } = errors[first] ?? errorTable[949]
  return { 'application/json': { schema, example: { error: first, message } } }
}

const errors: Readonly<Record<number, { readonly status: number; readonly message: string }>> = errorTable

/** Returns the errors that operations share. Statuses on which clients act have their own entry. */
export function sharedResponses(): Readonly<Record<string, Json>> {
  const withStatus = (wanted: number) => edgeCodes((status) => status === wanted)
  const text = ' Requests whose Accept does not name application/json get the text 401 Unauthorized.'
  const rights = ' The manager refuses what the account of the edge may not do with 4000.'
  return {
    unauthorized: {
      description: `Not signed in. ${listErrors(withStatus(401))}${text}`,
      headers: { 'WWW-Authenticate': { description: 'Basic and Bearer', schema: { type: 'string' } } },
      // The text is not listed: it would make each error of a typed client a text or an object.
      content: failureContent(withStatus(401)),
    },
    forbidden: { description: listErrors(withStatus(403)) + rights, content: failureContent(withStatus(403)) },
    tooMany: {
      description: listErrors(withStatus(429)),
      headers: retryAfter,
      content: failureContent(withStatus(429)),
    },
    refused: { description: listErrors(otherRefusals), content: failureContent(otherRefusals) },
  }
}

const retryAfter: Json = {
  'Retry-After': { description: 'Seconds after which the client may retry.', schema: { type: 'integer' } },
}

function listErrors(codes: readonly number[]): string {
  return codes.map((code) => `${code} (HTTP ${errors[code]?.status}): ${errors[code]?.message}.`).join(' ')
}

/** Returns the responses of one operation. Errors of the manager have HTTP status 200. */
export function responsesOf(endpoint: Endpoint, example: unknown): Json {
  const { response } = endpoint
  return {
    200: {
      description: sentences(describeData(endpoint), describeManagerErrors(endpoint)),
      ...(isJoined(endpoint) && { headers: clusterStatus }),
      content: {
        'application/json': { schema: bodySchema(endpoint), ...(example !== undefined && { example }) },
        ...(response.raw && { [response.raw.type]: { schema: { type: 'string' } } }),
      },
    },
    ...(response.accepted !== undefined && {
      202: {
        description: sentences(response.accepted),
        content: { 'application/json': { schema: bodySchema(endpoint) } },
      },
    }),
    400: {
      description: `The request is not valid. Error codes: ${requestCodes(endpoint).join(', ')}.`,
      content: contentOf(requestCodes(endpoint)),
    },
    401: { $ref: '#/components/responses/unauthorized' },
    403: { $ref: '#/components/responses/forbidden' },
    429: { $ref: '#/components/responses/tooMany' },
    '4XX': { $ref: '#/components/responses/refused' },
    '5XX': {
      description: `The edge or a node failed. Error codes: ${failureCodes(endpoint).join(', ')}.`,
      headers: retryAfter,
      content: failureContent(failureCodes(endpoint)),
    },
  }
}

function contentOf(codes: readonly number[]): Json {
  return failureContent(codes, { allOf: [refTo('Failure'), { properties: { error: { enum: codes } } }] })
}

/** The body of status 200. Operations that no node answers have no failure with this status. */
function bodySchema(endpoint: Endpoint): Json {
  if (endpoint.response.data === 'document') return refTo(endpoint.response.schema)
  const success = {
    type: 'object',
    required: ['error', 'data'],
    properties: { error: { const: 0 }, data: dataSchema(endpoint) },
    additionalProperties: false,
  }
  return { oneOf: [success, refTo('Failure')] }
}

function dataSchema(endpoint: Endpoint): Json {
  const { response } = endpoint
  const item = refTo(componentName(endpoint))
  if (response.data === 'array') return { type: 'array', items: item }
  if (response.data !== 'collection') return item
  return {
    type: 'object',
    required: ['items', 'totalItems'],
    properties: {
      items: { type: 'array', items: item },
      totalItems: { type: 'integer', minimum: 0, description: 'Number of matching elements on all pages.' },
      ...(isJoined(endpoint) && {
        failed_nodes: {
          type: 'array',
          items: refTo('FailedNode'),
          description: 'Nodes whose elements are missing. Absent if none is missing.',
        },
      }),
      ...(endpoint.target.kind === 'everyNode' && {
        covered_agents: {
          type: 'object',
          required: ['covered', 'all'],
          properties: { covered: { type: 'integer', minimum: 0 }, all: { type: 'integer', minimum: 0 } },
          description:
            'How many agents the request concerns, and of how many all elements were read. Absent if of all. A later request has more.',
        },
      }),
    },
    additionalProperties: false,
  }
}

function describeData(endpoint: Endpoint): string {
  const { response } = endpoint
  const name = componentName(endpoint)
  if (response.data === 'collection') return `a collection of ${name}`
  return response.data === 'array' ? `a list of ${name}` : name
}

function describeManagerErrors(endpoint: Endpoint): string {
  if (endpoint.target.kind === 'edge') return ''
  const meanings: Readonly<Record<number, string>> = managerErrors.meanings
  const own = managerCodes(endpoint).map((code) => `${code} ${meanings[code] ?? ''}`)
  const text = 'errors of the manager have HTTP status 200 too'
  return own.length === 0 ? text : `${text}: ${own.join('; ')}`
}

const clusterStatus: Json = {
  'Cluster-Status': {
    description:
      'The nodes that contributed to a joined response, with time and rows or error of each (a list of RFC 9651).',
    schema: { type: 'string' },
  },
}

function isJoined({ target, method }: Endpoint): boolean {
  return target.kind === 'severalNodes' || (target.kind === 'everyNode' && method === 'GET')
}

/** Whether a request may select some of the fields. */
export function hasSelect({ query }: Endpoint): boolean {
  const select = (query as Endpoint['query']).select
  return select !== undefined && select.selectsNothing !== true
}

/** Returns the name of the component of `data`, or of an element of `data`. */
function componentName(endpoint: Endpoint): string {
  const { schema } = endpoint.response
  const adds = addedFieldOf(endpoint)
  if (adds === undefined) return schema
  return `${schema}${adds === 'agent_id' ? 'OfAgent' : 'OfNode'}`
}

/** Returns the schema with all fields that a response has without `select`. */
export function completeSchema(endpoint: Endpoint): Schema {
  const base = schemas[endpoint.response.schema] ?? {}
  const adds = addedFieldOf(endpoint)
  return adds === undefined ? base : withField(base, adds)
}

export function componentsOf(catalogue: readonly Endpoint[]): Readonly<Record<string, Schema>> {
  const components = new Map<string, Schema>()
  const add = (name: string, schema: Schema): void => {
    if (components.has(name)) return
    components.set(name, schema)
    for (const referred of referredNames(schema)) add(referred, schemas[referred] ?? {})
  }
  for (const endpoint of catalogue) add(componentName(endpoint), completeSchema(endpoint))
  for (const endpoint of catalogue.filter(hasSelect))
    components.set(componentName(endpoint), selectable(completeSchema(endpoint)))
  return Object.fromEntries([...components].sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** Returns the field that the edge adds to each item of a joined response. */
function addedFieldOf({ target, response }: Endpoint): keyof typeof ADDED_FIELDS | undefined {
  if (target.kind === 'severalNodes') return 'node_name'
  return target.kind === 'everyNode' && response.data === 'collection' ? 'agent_id' : undefined
}

const ADDED_FIELDS = {
  agent_id: schemaOf('string: The agent that the item belongs to.'),
  node_name: schemaOf('string: The node that returned the item.'),
} as const

type Fields = Readonly<Record<string, Schema>>

/** A value that is not an object becomes a field of one, as in `join/join-collections.ts`. */
function withField(value: Schema, adds: keyof typeof ADDED_FIELDS): Schema {
  const base: Schema = value.type === 'string' ? { properties: { contents: value }, required: ['contents'] } : value
  const { properties = {}, required = [] } = base as { properties?: Fields; required?: readonly string[] }
  return {
    additionalProperties: value.type !== 'string',
    ...base,
    type: 'object',
    properties: { [adds]: ADDED_FIELDS[adds], ...properties },
    required: [adds, ...required],
  }
}

/** With `select` a response has the selected fields only, also of inner objects. */
function selectable(schema: Schema): Schema {
  const { description, required } = schema as { description?: string; required?: readonly string[] }
  return {
    ...withoutRequired(schema),
    description: [description, 'With select only the selected fields are present.'].filter(Boolean).join(' '),
    ...(required && { 'x-present-without-select': required }),
  }
}

function withoutRequired(schema: Schema): Schema {
  const { required: _, ...rest } = schema
  const properties = rest.properties as Fields | undefined
  if (properties === undefined) return rest
  const inner = Object.entries(properties).map(([name, field]) => [name, withoutRequired(field)])
  return { ...rest, properties: Object.fromEntries(inner) }
}

function referredNames(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) =>
    key === '$ref' && typeof inner === 'string' ? [inner.slice(PREFIX.length)] : referredNames(inner),
  )
}
