import type { Endpoint, ResponseShape } from '../../catalogue/endpoint.ts'
import { errorTable } from '../../core/errors.ts'
import { codesOf, type Json, sentences } from './parameters.ts'

type Shape = ResponseShape['data']

const object: Json = { type: 'object', additionalProperties: true }
const texts: Json = { type: 'array', items: { type: 'string' } }

const fault: Json = {
  type: 'object',
  required: ['code', 'message'],
  properties: { code: { type: 'integer' }, message: { type: 'string' } },
}

/** `data` by its shape. What an element holds, the manager's documentation says; `of` names it. */
const dataSchemas: Readonly<Record<Shape, Json>> = {
  collection: {
    type: 'object',
    required: ['items', 'totalItems'],
    properties: {
      items: { type: 'array', items: { type: ['object', 'string', 'array'] } },
      totalItems: { type: 'integer', minimum: 0, description: 'All elements that match, over all pages.' },
      failed_nodes: {
        type: 'array',
        items: { type: 'object', required: ['node', 'error'], properties: { node: { type: 'string' }, error: fault } },
        description: 'Of joined answers: nodes whose elements are missing. Absent where none is.',
      },
    },
  },
  object,
  array: { type: 'array', items: object },
  message: { type: 'string', description: 'A sentence for people.' },
  text: { type: 'string' },
  affected: {
    type: 'object',
    required: ['msg'],
    properties: {
      msg: { type: 'string' },
      affected_agents: texts,
      ids: texts,
      failed_ids: { type: 'array', items: { type: ['object', 'string'] }, description: 'Absent where none failed.' },
    },
    additionalProperties: true,
  },
}

const errorSchema: Json = {
  type: 'object',
  required: ['error', 'message'],
  properties: {
    error: { type: 'integer', minimum: 1, description: 'The code; below 900 and from 999 on it is the manager’s.' },
    message: { type: 'string' },
  },
}

/** The schemas of envelopes: one for each shape of `data`, and the error. */
export function envelopeSchemas(): Readonly<Record<string, Json>> {
  const shapes = Object.entries(dataSchemas).map(([shape, data]) => [
    shape,
    { type: 'object', required: ['error', 'data'], properties: { error: { const: 0 }, data } },
  ])
  return { ...Object.fromEntries(shapes), error: errorSchema }
}

const errorContent: Json = { 'application/json': { schema: { $ref: '#/components/schemas/error' } } }

/** The errors that any operation can answer. A status stands alone where clients act on it. */
export function sharedResponses(): Readonly<Record<string, Json>> {
  const unauthorized = {
    description: `Not signed in. ${listed((status) => status === 401)}`,
    headers: { 'WWW-Authenticate': { description: 'Basic and Bearer', schema: { type: 'string' } } },
    content: { 'text/plain': { schema: { const: '401 Unauthorized' } }, ...errorContent },
  }
  const alone = [400, 401, 403, 429]
  return {
    unauthorized,
    forbidden: { description: listed((status) => status === 403), content: errorContent },
    tooMany: { description: listed((status) => status === 429), headers: retryAfter, content: errorContent },
    refused: {
      description: listed((status) => status > 400 && status < 500 && !alone.includes(status)),
      content: errorContent,
    },
    failed: { description: listed((status) => status >= 500), headers: retryAfter, content: errorContent },
  }
}

const retryAfter: Json = {
  'Retry-After': { description: 'Seconds until it is worth to come again.', schema: { type: 'integer' } },
}

/** Code, status and message of every row of the error table that fits. */
function listed(fits: (status: number) => boolean): string {
  const rows = Object.entries(errorTable).filter(([, { status }]) => fits(status))
  return rows.map(([code, { status, message }]) => `${code} (HTTP ${status}): ${message}.`).join(' ')
}

/** The responses of one operation. Errors of the manager itself come with HTTP 200. */
export function responsesOf(endpoint: Endpoint): Json {
  const { response: answer } = endpoint
  const oneOf = [{ $ref: `#/components/schemas/${answer.data}` }, { $ref: '#/components/schemas/error' }]
  const codes = [...new Set([...paramCodes(endpoint), ...bodyCodes(endpoint)])].sort((a, b) => a - b)
  return {
    200: {
      description: sentences(answer.description, 'an error of the manager comes with HTTP 200 too'),
      ...(isJoined(endpoint) && { headers: clusterStatus }),
      content: {
        'application/json': { schema: { oneOf } },
        ...(answer.raw && { [answer.raw.type]: { schema: { type: 'string' } } }),
      },
    },
    400: { description: `The request is wrong: ${codes.join(', ')}.`, content: errorContent },
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
      'Of a joined answer: each node that was asked, with its time and rows or its error (RFC 9651, a list).',
    schema: { type: 'string' },
  },
}

function isJoined({ target, method }: Endpoint): boolean {
  return target.kind === 'severalNodes' || (target.kind === 'everyNode' && method === 'GET')
}

function paramCodes({ params, query, strictQuery, oneOf }: Endpoint): readonly number[] {
  const own = [...Object.values(params), ...Object.values(query)].flatMap(codesOf)
  return [...own, ...(strictQuery || oneOf ? [604] : []), 801, 802, 900]
}

function bodyCodes(endpoint: Endpoint): readonly number[] {
  const body = 'body' in endpoint ? endpoint.body : undefined
  if (!body) return []
  return body.kind === 'upload' ? [607, 701, 703, 705, body.wrongType] : [604, 607, 614, 701]
}
