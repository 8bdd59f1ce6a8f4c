/**
 * The gate in front of the body parsers: one Content-Type out of the record's, compared token by token (a
 * parser chosen by a look-alike type has skipped validation in the past: CVE-2025-32442), no charset but
 * UTF-8, no Content-Encoding. What the real API would end its process over is refused here.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Body } from '../catalogue/endpoint.ts'
import { EdgeError } from '../core/errors.ts'
import { printable } from './parameters.ts'

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
