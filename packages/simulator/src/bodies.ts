/** Reads request bodies as the real API's parsers do, including their limits and the inputs that end the process. */
import type { IncomingMessage } from 'node:http'
import { gunzipSync, inflateSync } from 'node:zlib'
import { FrameworkError } from './model.ts'

export interface ParsedBody {
  /** Without parameters, in lower case; empty if there is no body. */
  readonly type: string
  readonly fields: Readonly<Record<string, unknown>>
  readonly text: string
}

/** The real API process would end here and close the connection without a response. */
export class ProcessEnd extends Error {}

const KIBI = 1024
const limits: Readonly<Record<string, number>> = {
  'application/json': 100 * KIBI,
  'application/x-www-form-urlencoded': 100 * KIBI,
  'application/xml': 1024 * KIBI,
  'application/octet-stream': 1024 * KIBI,
}
const MOST_FORM_FIELDS = 1000

/** Returns the bytes of a request. Rejects if the client disconnects before the end. */
export async function readBytes(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

/** Parses a body. Throws 701 (too long) or 614 (not readable) with HTTP 400, or ProcessEnd. */
export function parseBody(request: IncomingMessage, sent: Buffer): ParsedBody {
  const [type = '', ...parameters] = (request.headers['content-type'] ?? '').toLowerCase().split(';').map(trimmed)
  const limit = limits[type]
  if (limit === undefined || sent.length === 0) return { type: sent.length === 0 ? '' : type, fields: {}, text: '' }
  const bytes = decompress(sent, request.headers['content-encoding'])
  refuseCharset(type, parameters)
  if (bytes.length > limit) throw new FrameworkError(701, 'Size of XML file is too long', 400)
  const text = bytes.toString('utf8')
  if (type === 'application/json') return { type, fields: parseJson(text), text: '' }
  if (type === 'application/x-www-form-urlencoded') return { type, fields: parseForm(text), text: '' }
  return { type, fields: {}, text }
}

function trimmed(text: string): string {
  return text.trim()
}

function decompress(sent: Buffer, encoding = 'identity'): Buffer {
  const read: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
    identity: (bytes) => bytes,
    gzip: (bytes) => gunzipSync(bytes),
    deflate: (bytes) => inflateSync(bytes),
  }
  const decoder = read[encoding.toLowerCase()]
  if (decoder === undefined) throw new ProcessEnd(`content encoding ${encoding}`)
  return decoder(sent)
}

function refuseCharset(type: string, parameters: readonly string[]): void {
  const charset = parameters.find((parameter) => parameter.startsWith('charset='))?.slice('charset='.length)
  if (charset === undefined || charset.replaceAll('"', '') === 'utf-8') return
  if (type === 'application/json' || type === 'application/x-www-form-urlencoded') {
    throw new ProcessEnd(`charset ${charset}`)
  }
}

function parseJson(text: string): Record<string, unknown> {
  const value = /^\s*[[{]/.test(text) ? parsed(text) : undefined
  if (typeof value !== 'object' || value === null) {
    throw new FrameworkError(614, 'Invalid request. Body is not correct.', 400)
  }
  return Array.isArray(value) ? {} : { ...value }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A repeated name or a name with brackets is a list. */
function parseForm(text: string): Record<string, unknown> {
  const pairs = [...new URLSearchParams(text)]
  if (pairs.length > MOST_FORM_FIELDS) throw new ProcessEnd(`${pairs.length} form fields`)
  const fields: Record<string, unknown> = {}
  for (const [written, value] of pairs) {
    const name = written.replace(/\[.*$/, '')
    const known = fields[name]
    if (name === written && known === undefined) fields[name] = value
    else fields[name] = [...(Array.isArray(known) ? known : known === undefined ? [] : [known]), value]
  }
  return fields
}
