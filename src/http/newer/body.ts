/** Bodies of the newer contract: JSON objects and files. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Endpoint } from '../../catalogue/endpoint.ts'
import { EdgeError } from '../../core/errors.ts'
import { isObject } from '../../core/values.ts'
import { parseStrictValue } from '../body-contents.ts'
import { printable } from '../edge-request.ts'
import { checkFields, invalidFields, printed } from './check-values.ts'
import { badRequest, wrongBodyType } from './problem.ts'

/** Types whose body the manager reads as JSON before it compares the type. */
const JSON_TYPES: ReadonlySet<string> = new Set(['application/json', 'application/x-www-form-urlencoded'])

/** Replaces Content-Type by the media type in lower case. The manager compares it after the parameters (`checkBodyType`). */
export function plainContentType(headers: IncomingHttpHeaders): void {
  const coding = headers['content-encoding']
  if (coding !== undefined && coding.trim().toLowerCase() !== 'identity') throw wrongBodyType()
  const [type = ''] = (headers['content-type'] ?? '').toLowerCase().split(';')
  // Fastify refuses a header that is no media type, before anything else is checked.
  if (/^[\w.+-]+\/[\w.+-]+$/.test(type.trim())) headers['content-type'] = type.trim()
  else delete headers['content-type']
}

/** Returns the object, or the bytes of a file and of a body that is no JSON. */
export function parseNewerBody(endpoint: Endpoint, type: string, bytes: Buffer): unknown {
  const body = 'body' in endpoint ? endpoint.body : undefined
  if (body?.kind !== 'fields') return bytes
  if (bytes.length === 0) throw notObject('None')
  if (!JSON_TYPES.has(type)) return bytes
  const value = parseJson(bytes)
  if (!isObject(value)) throw notObject(printed(value))
  return value
}

/** A text that is no JSON stays a text. JSON that other parsers might read in another way is refused. */
function parseJson(bytes: Buffer): unknown {
  try {
    return parseStrictValue(bytes)
  } catch (error) {
    if (error instanceof EdgeError && error.cause instanceof SyntaxError) return bytes.toString('utf8')
    throw error
  }
}

function notObject(text: string): EdgeError {
  return badRequest(`${printable(text)} is not of type 'object'`)
}

/** Checks the fields of a JSON body, which the manager does before the parameters. */
export function checkBody(endpoint: Endpoint, sent: unknown): void {
  const body = 'body' in endpoint ? endpoint.body : undefined
  if (body?.kind !== 'fields' || Buffer.isBuffer(sent)) return
  checkFields(body.fields, sent as Readonly<Record<string, unknown>>)
}

/** The type of a body that declares none. */
const UNTYPED = 'application/octet-stream'

/** Checks the media type and unknown fields, which the manager does after the parameters. */
export function checkBodyType(endpoint: Endpoint, type: string, sent: unknown): void {
  const body = 'body' in endpoint ? endpoint.body : undefined
  if (body === undefined) return
  const types: readonly string[] = body.types
  if (!types.includes(type === '' ? UNTYPED : type)) throw wrongBodyType()
  if (body.kind !== 'fields' || body.open) return
  const unknown = Object.keys(sent as object).filter((name) => !Object.hasOwn(body.fields, name))
  if (unknown.length > 0) throw invalidFields(unknown)
}
