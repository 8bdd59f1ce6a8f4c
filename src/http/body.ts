import { isUtf8 } from 'node:buffer'
import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Body, Endpoint } from '../catalogue/endpoint.ts'
import { EdgeError } from '../core/errors.ts'
import { parseParameters, printable, typedFields } from './parameters.ts'
import { checkList, checkXml } from './upload.ts'

/** Body parsers, by media type. A record that takes no body has what came with it read and dropped. */

/** More form fields than these end the API process of the real manager (contract, semantics.md section 1). */
const FORM_FIELDS = { count: 1000, tooMany: 607 } as const

type Parse = (endpoint: Endpoint, bytes: Buffer) => unknown

const parsers: Readonly<Record<string, Parse>> = {
  'application/json': (_endpoint, bytes) => parseStrictJson(bytes),
  'application/x-www-form-urlencoded': (endpoint, bytes) => {
    // Else what is no text would arrive as another one.
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
    return endpoint !== undefined && hasBody(endpoint) ? parsers[plainType(request)]?.(endpoint, bytes) : undefined
  })
  // A request without any body has no parser run; an upload needs its refusal all the same.
  app.addHook('preValidation', async (request) => {
    const endpoint = request.routeOptions.config.endpoint
    if (endpoint !== undefined && hasBody(endpoint) && request.body === undefined) {
      request.body = await (parsers[plainType(request)] ?? (() => ({})))(endpoint, Buffer.alloc(0))
    }
  })
}

function hasBody(endpoint: Endpoint): boolean {
  return 'body' in endpoint && endpoint.body !== undefined
}

function plainType(request: FastifyRequest): string {
  return request.headers['content-type'] ?? ''
}

/** Leaves only the plain media type in the header, or refuses. Only a POST must declare one (contract, semantics.md 1). */
export function checkBodyType(request: FastifyRequest, endpoint: Endpoint): void {
  const body = 'body' in endpoint ? endpoint.body : undefined
  if (body === undefined) {
    if (isEncoded(request.headers)) throw new EdgeError(607)
    return
  }
  const { headers } = request
  const bodyless = headers['content-type'] === undefined && Number(headers['content-length'] ?? 0) === 0
  if (endpoint.method !== 'POST' && bodyless && headers['transfer-encoding'] === undefined) return
  headers['content-type'] = bodyType(headers, body)
}

/**
 * The gate in front of the body parsers: one Content-Type out of the record's, compared token by token (a
 * parser chosen by a look-alike type has skipped validation in the past: CVE-2025-32442), no charset but
 * UTF-8, no Content-Encoding. What the real API would end its process over is refused here.
 */

const ACCEPTED = [
  'application/json',
  'application/x-www-form-urlencoded',
  'application/xml',
  'application/octet-stream',
]
const MEDIA_TYPE = /^([a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.+-]+)[ \t]*(?:;[ \t]*charset=(?:"utf-8"|utf-8)[ \t]*)?$/i

/** The media type, without parameters and in lower case; 607 or the record's own code where it may not stand here. */
export function bodyType(headers: IncomingHttpHeaders, body: Body): string {
  if (isEncoded(headers)) throw new EdgeError(607)
  const type = MEDIA_TYPE.exec(headers['content-type'] ?? '')?.[1]?.toLowerCase()
  if (type === undefined || !ACCEPTED.includes(type)) throw new EdgeError(607)
  const types: readonly string[] = body.types
  if (types.includes(type)) return type
  if (body.kind === 'upload' && body.wrongType === 804) throw new EdgeError(804, `. ${printable(type)}`)
  throw new EdgeError(607)
}

/** Is the body anything but plain bytes? Nothing is ever decompressed. */
export function isEncoded(headers: IncomingHttpHeaders): boolean {
  const encoding = headers['content-encoding']
  return encoding !== undefined && encoding.trim().toLowerCase() !== 'identity'
}

/**
 * JSON bodies, read as strictly as RFC 8259 advises and a little more: valid UTF-8, one object, no duplicate
 * names (parsers disagree on which one wins), no names that reach into prototypes or into the manager's own
 * deserialiser (`__class__` and the like: CVE-2025-24016), at most 32 levels.
 */

const MAX_DEPTH = 32
const TOKEN = /[\s,:]*(?:([{}[\]])|"((?:[^"\\]|\\.)*)"|[^\s,:{}[\]"]+)/y
const COLON = /\s*:/y

/** The object that the bytes hold; an empty body is an empty object. Anything else is refused with 614. */
export function parseStrictJson(bytes: Buffer): Record<string, unknown> {
  if (bytes.length === 0) return {}
  if (!isUtf8(bytes)) throw refuse('is not UTF-8')
  const text = bytes.toString('utf8').replace(/^\uFEFF/, '')
  // Looked at before it is parsed: a hundred thousand levels cost the parser more than they cost the walk.
  walk(text)
  const value = parse(text)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw refuse('is not an object')
  return value as Record<string, unknown>
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new EdgeError(614, '', { cause })
  }
}

/** Walks the tokens only as far as to see depth and names; whether it is JSON at all is the parser's to say. */
function walk(text: string): void {
  const names: (Set<string> | null)[] = []
  TOKEN.lastIndex = 0
  for (let token = TOKEN.exec(text); token !== null && token[0] !== ''; token = TOKEN.exec(text)) {
    const [, bracket, string] = token
    if (bracket === '{' || bracket === '[') {
      if (names.push(bracket === '{' ? new Set() : null) > MAX_DEPTH) throw refuse(`is deeper than ${MAX_DEPTH} levels`)
    } else if (bracket !== undefined) {
      names.pop()
    } else if (string !== undefined) {
      checkString(string, names.at(-1) ?? null, text, TOKEN.lastIndex)
    }
  }
}

function checkString(raw: string, names: Set<string> | null, text: string, end: number): void {
  const value = raw.includes('\\') ? unescaped(raw) : raw
  if (/[\uD800-\uDFFF]/u.test(value)) throw refuse('holds half of a surrogate pair')
  COLON.lastIndex = end
  if (names === null || !COLON.test(text)) return
  if (value.startsWith('__') || value === 'constructor' || value === 'prototype') throw refuse('holds a forbidden name')
  if (names.has(value)) throw refuse('holds a name twice')
  names.add(value)
}

function unescaped(raw: string): string {
  return String(parse(`"${raw}"`))
}

function refuse(why: string): EdgeError {
  return new EdgeError(614, ` The body ${why}.`)
}
