/**
 * Request bodies: one Content-Type out of those of the endpoint, no Content-Encoding, and a strict parser for each
 * media type. The body of a request whose endpoint takes none is read and dropped.
 */
import { isUtf8 } from 'node:buffer'
import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Body, Endpoint } from '../catalogue/endpoint.ts'
import { EdgeError } from '../core/errors.ts'
import { parseParameters, printable, typedFields, typedJson } from './parameters.ts'
import { checkList, checkXml } from './upload.ts'

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
  'application/json': (endpoint, bytes) => typedJson(endpoint, parseStrictJson(bytes)),
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

export function registerBodyParsers(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, async (request: FastifyRequest, bytes: Buffer) => {
    const endpoint = request.routeOptions.config.endpoint
    return endpoint !== undefined && bodyOf(endpoint) ? parsers[mediaTypeOf(request)]?.(endpoint, bytes) : undefined
  })
  // Fastify runs no parser for a request without a body, but an empty upload must be rejected too.
  app.addHook('preValidation', async (request) => {
    const endpoint = request.routeOptions.config.endpoint
    if (endpoint !== undefined && bodyOf(endpoint) && request.body === undefined) {
      request.body = await (parsers[mediaTypeOf(request)] ?? (() => ({})))(endpoint, Buffer.alloc(0))
    }
  })
}

function bodyOf(endpoint: Endpoint): Body | undefined {
  return 'body' in endpoint ? endpoint.body : undefined
}

/** `checkContentHeaders` has replaced the header by the plain media type. */
function mediaTypeOf(request: FastifyRequest): string {
  return request.headers['content-type'] ?? ''
}

/**
 * Checks Content-Type and Content-Encoding before a body is read, and replaces Content-Type by the plain media type.
 * Throws 607, or 804 if the endpoint says so. Only a POST must declare a type (contract).
 */
export function checkContentHeaders(headers: IncomingHttpHeaders, endpoint: Endpoint): void {
  const body = bodyOf(endpoint)
  if (body === undefined) {
    if (isEncoded(headers)) throw new EdgeError(607)
    return
  }
  const isEmpty = headers['content-type'] === undefined && Number(headers['content-length'] ?? 0) === 0
  if (endpoint.method !== 'POST' && isEmpty && headers['transfer-encoding'] === undefined) return
  headers['content-type'] = acceptedMediaType(headers, body)
}

/**
 * Returns the media type in lower case, without parameters. The header is compared as a whole: a parser that is chosen
 * by a similar type can bypass validation (CVE-2025-32442). Types that end the process of the real API are rejected.
 */
function acceptedMediaType(headers: IncomingHttpHeaders, body: Body): string {
  if (isEncoded(headers)) throw new EdgeError(607)
  const type = CONTENT_TYPE.exec(headers['content-type'] ?? '')?.[1]?.toLowerCase()
  if (type === undefined || !MEDIA_TYPES.includes(type)) throw new EdgeError(607)
  const types: readonly string[] = body.types
  if (types.includes(type)) return type
  if (body.kind === 'upload' && body.wrongType === 804) throw new EdgeError(804, `. ${printable(type)}`)
  throw new EdgeError(607)
}

/** Returns whether a content coding other than `identity` is declared. The edge decompresses nothing. */
function isEncoded(headers: IncomingHttpHeaders): boolean {
  const coding = headers['content-encoding']
  return coding !== undefined && coding.trim().toLowerCase() !== 'identity'
}

const MAX_JSON_DEPTH = 32
const TOKEN = /[\s,:]*(?:([{}[\]])|"((?:[^"\\]|\\.)*)"|[^\s,:{}[\]"]+)/y
const COLON = /\s*:/y

/**
 * Parses a JSON body more strictly than RFC 8259: valid UTF-8, one object, no duplicate names (parsers disagree on
 * which one wins), no names that reach into prototypes or into the deserialiser of the manager (`__class__` and
 * others: CVE-2025-24016), at most 32 levels. An empty body is an empty object. Anything else throws 614.
 */
function parseStrictJson(bytes: Buffer): Record<string, unknown> {
  if (bytes.length === 0) return {}
  if (!isUtf8(bytes)) throw invalidJson('is not UTF-8')
  const text = bytes.toString('utf8').replace(/^\uFEFF/, '')
  // Checked before parsing: 100,000 levels cost the parser more than this scan.
  scanJson(text)
  const value = parseJson(text)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw invalidJson('is not an object')
  return value as Record<string, unknown>
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new EdgeError(614, '', { cause })
  }
}

/** Scans the tokens for depth and names only; the parser decides whether the text is JSON. */
function scanJson(text: string): void {
  const names: (Set<string> | null)[] = []
  TOKEN.lastIndex = 0
  for (let token = TOKEN.exec(text); token !== null && token[0] !== ''; token = TOKEN.exec(text)) {
    const [, bracket, string] = token
    if (bracket === '{' || bracket === '[') {
      const depth = names.push(bracket === '{' ? new Set() : null)
      if (depth > MAX_JSON_DEPTH) throw invalidJson(`is deeper than ${MAX_JSON_DEPTH} levels`)
    } else if (bracket !== undefined) {
      names.pop()
    } else if (string !== undefined) {
      checkString(string, names.at(-1) ?? null, text, TOKEN.lastIndex)
    }
  }
}

function checkString(raw: string, names: Set<string> | null, text: string, end: number): void {
  const value = raw.includes('\\') ? String(parseJson(`"${raw}"`)) : raw
  if (/[\uD800-\uDFFF]/u.test(value)) throw invalidJson('holds half of a surrogate pair')
  COLON.lastIndex = end
  if (names === null || !COLON.test(text)) return
  if (value.startsWith('__') || value === 'constructor' || value === 'prototype')
    throw invalidJson('holds a forbidden name')
  if (names.has(value)) throw invalidJson('holds a name twice')
  names.add(value)
}

function invalidJson(reason: string): EdgeError {
  return new EdgeError(614, ` The body ${reason}.`)
}
