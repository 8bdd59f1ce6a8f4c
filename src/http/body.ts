/**
 * Request bodies: one Content-Type out of those of the endpoint, and a strict parser for each
 * media type, which gives fields the types of the endpoint. If the endpoint takes no body, a body is read completely
 * and has no effect.
 */
import { isUtf8 } from 'node:buffer'
import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Body, Endpoint } from '../contracts/endpoint.ts'
import { kinds } from '../contracts/schemas/kinds.ts'
import { describedBody } from '../core/endpoint-names.ts'
import { EdgeError } from '../core/errors.ts'
import type { RequestBody } from '../core/request.ts'
import { checkList, slicesOf } from './body-contents.ts'
import { checkCoding, collectBody, decodeBody } from './content-coding.ts'
import type { HttpContract } from './contract.ts'
import { canonicalText, parseParameters, printable } from './parameters.ts'
import { parseStrictObject, parseStrictValue } from './strict-json.ts'
import { typedFields, typedJson } from './typed-fields.ts'
import { checkXml } from './uploaded-xml.ts'
import { badValue } from './validation.ts'

/** More form fields than this end the API process of the real manager (contract). */
const FORM_FIELDS = { count: 1000, tooMany: 607 } as const
const MEDIA_TYPES = [
  'application/json',
  'application/x-www-form-urlencoded',
  'application/xml',
  'application/octet-stream',
]
/** A media type, optionally with the charset UTF-8 and no other parameter. */
const CONTENT_TYPE = /^([a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.+-]+)[ \t]*(?:;[ \t]*charset=(?:"utf-8"|utf-8)[ \t]*)?$/i

type Parse = (endpoint: Endpoint, bytes: Buffer) => unknown

const parsers: Readonly<Record<string, Parse>> = {
  'application/json': async (endpoint, bytes) => typedJson(endpoint, await parseStrictObject(bytes)),
  'application/x-www-form-urlencoded': (endpoint, bytes) => {
    // Decoding replaces invalid UTF-8, so it would change the text.
    if (!isUtf8(bytes)) throw new EdgeError(614, ' The body is not UTF-8.')
    return typedFields(endpoint, parseParameters(bytes.toString('utf8'), FORM_FIELDS))
  },
  'application/xml': async (_endpoint, bytes) => {
    await checkXml(bytes)
    return bytes
  },
  'application/octet-stream': async (_endpoint, bytes) => {
    await checkList(bytes)
    return bytes
  },
}

type BodyReader = Pick<HttpContract, 'parseBody' | 'bodyLimitOf'>

export function registerBodyParser(app: FastifyInstance, { parseBody, bodyLimitOf }: BodyReader): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', async (request: FastifyRequest) => {
    const bytes = await readBody(request, bodyLimitOf)
    const endpoint = request.routeOptions.config.endpoint
    return endpoint !== undefined && describedBody(endpoint) ? parseBody(endpoint, mediaTypeOf(request), bytes) : bytes
  })
}

/** Returns the contents of a body of the v3 contract. */
export function parseRequestBody(endpoint: Endpoint, type: string, bytes: Buffer): unknown {
  const parse = parsers[type]
  if (parse !== undefined) return parse(endpoint, bytes)
  return bytes.length === 0 ? {} : undefined
}

/**
 * Reads and drops a body that the endpoint does not take. Throws 614 if it is neither JSON nor a form, and 701 if it is
 * too large; the connection is closed then, since such a body may be a second request.
 */
export async function dropBody(
  request: FastifyRequest,
  reply: FastifyReply,
  limitOf: BodyReader['bodyLimitOf'],
): Promise<void> {
  reply.header('connection', 'close')
  // Fastify runs no parser for the body of a GET.
  const bytes = request.method === 'GET' ? await readBody(request, limitOf) : request.body
  request.body = undefined
  if (Buffer.isBuffer(bytes) && bytes.length > 0) {
    const isEncodedForm = isForm(request) && (await isFormText(bytes))
    if (!isEncodedForm) await parseStrictValue(bytes)
  }
  reply.removeHeader('connection')
}

/** An encoded form has no white space and no control characters, which every HTTP request has. */
const FORM_TEXT = /^[\x21-\x7e]*$/

async function isFormText(bytes: Buffer): Promise<boolean> {
  for await (const [slice] of slicesOf(bytes)) if (!FORM_TEXT.test(slice)) return false
  return true
}

function isForm(request: FastifyRequest): boolean {
  return CONTENT_TYPE.exec(mediaTypeOf(request))?.[1]?.toLowerCase() === 'application/x-www-form-urlencoded'
}

/** Returns the body without its content coding. Rejects with 701 if it is too large. A length that is announced is checked before the body is read. */
async function readBody(
  { raw, headers, routeOptions, edge }: FastifyRequest,
  limitOf: BodyReader['bodyLimitOf'],
): Promise<Buffer> {
  const limits = { maxLength: limitOf(routeOptions.config.endpoint), count: edge.countBody }
  if (Number(headers['content-length']) > limits.maxLength) throw new EdgeError(701)
  // The request must not be destroyed at the limit: its connection has to carry the response.
  const bytes = await collectBody(raw.iterator({ destroyOnReturn: false }), limits)
  return decodeBody(headers, bytes, limits)
}

/** `checkContentHeaders` has replaced the header by the plain media type. */
export function mediaTypeOf(request: FastifyRequest): string {
  return request.headers['content-type'] ?? ''
}

/**
 * Checks Content-Type and Content-Encoding before a body is read, and replaces Content-Type by the plain media type.
 * Throws 914, and 607, or 804 if the record of the endpoint has that code. Only a POST must declare a type (contract).
 */
export function checkContentHeaders(headers: IncomingHttpHeaders, endpoint: Endpoint): void {
  checkCoding(headers, 'identity')
  const body = describedBody(endpoint)
  if (body === undefined) return
  const isEmpty = headers['content-type'] === undefined && Number(headers['content-length'] ?? 0) === 0
  if (endpoint.method !== 'POST' && isEmpty && headers['transfer-encoding'] === undefined) return
  headers['content-type'] = acceptedMediaType(headers, body)
}

/**
 * Returns the media type in lower case, without parameters. The header is compared as a whole: a parser that is chosen
 * by a similar type can bypass validation (CVE-2025-32442). Types that end the process of the real API are rejected.
 */
function acceptedMediaType(headers: IncomingHttpHeaders, body: Body): string {
  const type = CONTENT_TYPE.exec(headers['content-type'] ?? '')?.[1]?.toLowerCase()
  if (type === undefined || !MEDIA_TYPES.includes(type)) throw new EdgeError(607)
  const types: readonly string[] = body.types
  if (types.includes(type)) return type
  if (body.kind === 'upload' && body.wrongType === 804) throw new EdgeError(804, `. ${printable(type)}`)
  throw new EdgeError(607)
}

/** Returns the body of a validated request. `clientAddress` fills the fields that take the address of the client; an empty text: it is not known. */
export function requestBody(body: Body, request: FastifyRequest, clientAddress: string): RequestBody {
  if (body.kind === 'upload') return uploadOf(request)
  const sent = request.body as Readonly<Record<string, unknown>>
  const fields: Record<string, unknown> = {}
  for (const [name, field] of Object.entries(body.fields)) {
    const value = sent[name] ?? (field.fill === 'clientAddress' ? ipv4(clientAddress, name) : undefined)
    if (value !== undefined) fields[name] = canonicalField(field.canonical, value)
  }
  return { kind: 'fields', fields }
}

/** Returns the file that is the body of a request. */
export function uploadOf({ headers, body }: FastifyRequest): RequestBody {
  const type = headers['content-type'] === 'application/xml' ? 'application/xml' : 'application/octet-stream'
  return { kind: 'upload', type, bytes: body as Buffer }
}

const IPV4 = new RegExp(kinds.ips.pattern)

/** The manager registers IPv4 addresses only. Any other address, or an unknown one, is rejected with 606, as by the real API. */
function ipv4(client: string, name: string): string {
  if (!IPV4.test(client)) throw badValue('ips', name)
  return client
}

function canonicalField(canonical: Parameters<typeof canonicalText>[0], value: unknown): unknown {
  if (Array.isArray(value))
    return value.map((one) => canonicalField(canonical === 'agentIds' ? 'agentId' : canonical, one))
  return typeof value === 'string' ? canonicalText(canonical, value) : value
}
