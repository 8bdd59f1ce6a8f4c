/** Bodies of the v4 contract: their types, parsing, and the checks of their fields. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Endpoint } from '../../contracts/endpoint.ts'
import { describedBody } from '../../core/endpoint-names.ts'
import { EdgeError, ProblemError } from '../../core/errors.ts'
import { isObject } from '../../core/values.ts'
import { checkCoding } from '../content-coding.ts'
import { printable } from '../parameters.ts'
import { parseStrictValue } from '../strict-json.ts'
import { checkFields, invalidFields } from './check-values.ts'
import { printedStart } from './printed.ts'
import { badRequest } from './problem.ts'
import type { ReleaseFacts } from './release-facts.ts'

/** Types whose body the manager reads as JSON before it compares the type. */
const JSON_TYPES: ReadonlySet<string> = new Set(['application/json', 'application/x-www-form-urlencoded'])

/** Replaces Content-Type by the media type in lower case. The manager compares it after the parameters (`checkBodyType`). */
export function plainContentType(headers: IncomingHttpHeaders): void {
  checkCoding(headers, 'gzip')
  const [type = ''] = (headers['content-type'] ?? '').toLowerCase().split(';')
  // Fastify refuses a header that is no media type, before anything else is checked.
  if (/^[\w.+-]+\/[\w.+-]+$/.test(type.trim())) headers['content-type'] = type.trim()
  else delete headers['content-type']
}

/** Throws for another type than those of the operation. A body that declares none has the right one. */
export function checkTypeFirst(
  headers: IncomingHttpHeaders,
  endpoint: Endpoint,
  { wrongBodyType }: ReleaseFacts,
): void {
  const types: readonly string[] = describedBody(endpoint)?.types ?? []
  const [type = ''] = (headers['content-type'] ?? types[0] ?? '').toLowerCase().split(';', 1)
  if (types.length > 0 && !types.includes(type.trim())) throw new ProblemError(607, wrongBodyType(type.trim(), types))
  headers['content-type'] ??= types[0]
}

/** Returns the object, or the bytes of a file and of a body that is no JSON. */
export async function parseV4Body(
  endpoint: Endpoint,
  { type, bytes }: { readonly type: string; readonly bytes: Buffer },
  { emptyBody }: ReleaseFacts,
): Promise<unknown> {
  const body = describedBody(endpoint)
  if (body?.kind !== 'fields') return bytes
  if (bytes.length === 0) throw badRequest(emptyBody)
  if (!JSON_TYPES.has(type)) return bytes
  const value = await parseJson(bytes)
  if (!isObject(value)) throw badRequest(`${printable(printedStart(value))} is not of type 'object'`)
  return value
}

/** Of a text that is no JSON: more than its error contains. */
const MAX_START_BYTES = 1024

/** A text that is no JSON stays a text, of which the start is returned. JSON that other parsers might read in another way is refused. */
async function parseJson(bytes: Buffer): Promise<unknown> {
  try {
    return await parseStrictValue(bytes)
  } catch (error) {
    if (error instanceof EdgeError && error.cause instanceof SyntaxError)
      return bytes.toString('utf8', 0, MAX_START_BYTES)
    throw error
  }
}

/** Checks the fields of a JSON body, which the manager does before the parameters. */
export function checkBody(endpoint: Endpoint, sent: unknown): void {
  const body = describedBody(endpoint)
  if (body?.kind !== 'fields' || Buffer.isBuffer(sent)) return
  checkFields(body.fields, sent as Readonly<Record<string, unknown>>)
}

/** The type of a body that declares none. */
export const UNTYPED = 'application/octet-stream'

/** Checks the media type, which the manager does after the parameters. */
export function checkBodyType(endpoint: Endpoint, type: string, { wrongBodyType }: ReleaseFacts): void {
  const types: readonly string[] = describedBody(endpoint)?.types ?? [type]
  if (!types.includes(type)) throw new ProblemError(607, wrongBodyType(type, types))
}

/** Checks unknown fields, which the manager does after everything else. */
export function checkKnownFields(endpoint: Endpoint, sent: unknown): void {
  const body = describedBody(endpoint)
  if (body?.kind !== 'fields' || body.open) return
  const unknown = Object.keys(sent as object).filter((name) => !Object.hasOwn(body.fields, name))
  if (unknown.length > 0) throw invalidFields(unknown)
}
