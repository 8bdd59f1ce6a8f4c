/** Responses of the OpenAPI document: envelopes, and the errors of the edge. */
import type { Endpoint, ResponseShape } from '../../catalogue/endpoint.ts'
import { errorTable } from '../../core/errors.ts'
import { errorCodesOf, type Json, sentences } from './parameters.ts'

type Shape = ResponseShape['data']

const objectSchema: Json = { type: 'object', additionalProperties: true }
const textsSchema: Json = { type: 'array', items: { type: 'string' } }

const nodeErrorSchema: Json = {
  type: 'object',
  required: ['code', 'message'],
  properties: { code: { type: 'integer' }, message: { type: 'string' } },
}

/** The schema of `data` by its shape. The manager's documentation describes the elements. */
const dataSchemas: Readonly<Record<Shape, Json>> = {
  collection: {
    type: 'object',
    required: ['items', 'totalItems'],
    properties: {
      items: { type: 'array', items: { type: ['object', 'string', 'array'] } },
      totalItems: { type: 'integer', minimum: 0, description: 'Number of matching elements on all pages.' },
      failed_nodes: {
        type: 'array',
        items: {
          type: 'object',
          required: ['node', 'error'],
          properties: { node: { type: 'string' }, error: nodeErrorSchema },
        },
        description: 'Nodes whose elements are missing from a joined response. Absent if none is missing.',
      },
    },
  },
  object: objectSchema,
  array: { type: 'array', items: objectSchema },
  message: { type: 'string', description: 'A sentence in English.' },
  text: { type: 'string' },
  affected: {
    type: 'object',
    required: ['msg'],
    properties: {
      msg: { type: 'string' },
      affected_agents: textsSchema,
      ids: textsSchema,
      failed_ids: { type: 'array', items: { type: ['object', 'string'] }, description: 'Absent if none failed.' },
    },
    additionalProperties: true,
  },
}

const errorSchema: Json = {
  type: 'object',
  required: ['error', 'message'],
  properties: {
    error: { type: 'integer', minimum: 1, description: 'The code. Codes from 900 to 949 are errors of the edge.' },
    message: { type: 'string' },
  },
}

/** Returns one envelope for each shape of `data`, and the envelope of errors. */
export function envelopeSchemas(): Readonly<Record<string, Json>> {
  const shapes = Object.entries(dataSchemas).map(([shape, data]) => [
    shape,
    { type: 'object', required: ['error', 'data'], properties: { error: { const: 0 }, data } },
  ])
  return { ...Object.fromEntries(shapes), error: errorSchema }
}

const errorContent: Json = { 'application/json': { schema: { $ref: '#/components/schemas/error' } } }

/** Returns the errors that every operation shares. Statuses on which clients act have their own entry. */
export function sharedResponses(): Readonly<Record<string, Json>> {
  const unauthorized = {
    description: `Not signed in. ${listErrors((status) => status === 401)}`,
    headers: { 'WWW-Authenticate': { description: 'Basic and Bearer', schema: { type: 'string' } } },
    content: { 'text/plain': { schema: { const: '401 Unauthorized' } }, ...errorContent },
  }
  const separate = [400, 401, 403, 429]
  return {
    unauthorized,
    forbidden: { description: listErrors((status) => status === 403), content: errorContent },
    tooMany: { description: listErrors((status) => status === 429), headers: retryAfter, content: errorContent },
    refused: {
      description: listErrors((status) => status > 400 && status < 500 && !separate.includes(status)),
      content: errorContent,
    },
    failed: { description: listErrors((status) => status >= 500), headers: retryAfter, content: errorContent },
  }
}

const retryAfter: Json = {
  'Retry-After': { description: 'Seconds after which the client may retry.', schema: { type: 'integer' } },
}

/** Returns code, status and message of each row of the error table whose status matches. */
function listErrors(matches: (status: number) => boolean): string {
  const rows = Object.entries(errorTable).filter(([, { status }]) => matches(status))
  return rows.map(([code, { status, message }]) => `${code} (HTTP ${status}): ${message}.`).join(' ')
}

/** Returns the responses of one operation. Errors of the manager have HTTP status 200. */
export function responsesOf(endpoint: Endpoint): Json {
  const { response } = endpoint
  const oneOf = [{ $ref: `#/components/schemas/${response.data}` }, { $ref: '#/components/schemas/error' }]
  const codes = [...new Set([...paramCodes(endpoint), ...bodyCodes(endpoint)])].sort((a, b) => a - b)
  return {
    200: {
      description: sentences(response.description, 'errors of the manager have HTTP status 200 too'),
      ...(isJoined(endpoint) && { headers: clusterStatus }),
      content: {
        'application/json': { schema: { oneOf } },
        ...(response.raw && { [response.raw.type]: { schema: { type: 'string' } } }),
      },
    },
    400: { description: `The request is not valid. Error codes: ${codes.join(', ')}.`, content: errorContent },
    401: { $ref: '#/components/responses/unauthorized' },
    403: { $ref: '#/components/responses/forbidden' },
    429: { $ref: '#/components/responses/tooMany' },
    '4XX': { $ref: '#/components/responses/refused' },
    '5XX': { $ref: '#/components/responses/failed' },
  }
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

function paramCodes({ params, query, strictQuery, oneOf }: Endpoint): readonly number[] {
  const own = [...Object.values(params), ...Object.values(query)].flatMap(errorCodesOf)
  return [...own, ...(strictQuery || oneOf ? [604] : []), 801, 802, 900]
}

function bodyCodes(endpoint: Endpoint): readonly number[] {
  const body = 'body' in endpoint ? endpoint.body : undefined
  if (!body) return []
  return body.kind === 'upload' ? [607, 701, 703, 705, body.wrongType] : [604, 607, 614, 701]
}
