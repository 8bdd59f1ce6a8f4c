/** Writes responses with the bytes of a real node. */
import { createHash } from 'node:crypto'
import { type FrameworkError, RawFile } from './model.ts'

export interface Outgoing {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

/** Headers of every response, including 401 and 204. */
export const always = { 'X-Powered-By': 'Express', 'Access-Control-Allow-Origin': '*' }

/** Sends `data` in its envelope, or the file itself. */
export function success(data: unknown, pretty: boolean): Outgoing {
  if (data instanceof RawFile) {
    const body = Buffer.from(data.text)
    return { status: 200, headers: { ...always, 'Content-Type': 'text/xml', 'Content-Length': `${body.length}` }, body }
  }
  return json(200, { error: 0, data }, pretty)
}

export function failure(error: FrameworkError, pretty: boolean): Outgoing {
  return json(error.status, { error: wireCode(error.code), message: wireMessage(error) }, pretty)
}

/** The real API sends 607 as text. */
function wireCode(code: number): number | string {
  return code === 607 ? '607' : code
}

/** Only messages of the framework are cut at the first colon; texts of the API itself are sent whole. */
function wireMessage({ code, message }: FrameworkError): string {
  if (code === 1000) return 'Internal error'
  return code >= 999 ? (message.split(':')[0] ?? '') : message
}

export function json(status: number, value: unknown, pretty: boolean): Outgoing {
  const body = Buffer.from(pretty ? `${JSON.stringify(value, undefined, 3)}\n` : JSON.stringify(value))
  const headers = {
    ...always,
    'Content-Type': pretty ? 'text/html; charset=utf-8' : 'application/json; charset=utf-8',
    'Content-Length': `${body.length}`,
    ETag: weakTag(body),
  }
  return { status, headers, body }
}

function weakTag(body: Buffer): string {
  return `W/"${body.length.toString(16)}-${createHash('sha1').update(body).digest('base64').slice(0, 27)}"`
}

/** Sends chunked without Content-Length, as the real API does. */
export const unauthorized: Outgoing = {
  status: 401,
  headers: { ...always, 'Content-Type': 'text/plain', 'WWW-Authenticate': 'Basic realm="OSSEC API"' },
  body: Buffer.from('401 Unauthorized'),
}

/** CORS is on by default and answers before authentication. */
export function preflight(requestedHeaders: string | undefined): Outgoing {
  const headers = {
    ...always,
    'Access-Control-Allow-Methods': 'GET,HEAD,PUT,PATCH,POST,DELETE',
    Vary: 'Access-Control-Request-Headers',
    'Content-Length': '0',
    ...(requestedHeaders === undefined ? {} : { 'Access-Control-Allow-Headers': requestedHeaders }),
  }
  return { status: 204, headers, body: Buffer.alloc(0) }
}

/** Sends 304 if the client already has this response (successful GET and HEAD). */
export function unlessKnown(answer: Outgoing, ifNoneMatch: string | undefined): Outgoing {
  const tag = answer.headers.ETag
  if (ifNoneMatch === undefined || tag === undefined || answer.status !== 200) return answer
  const known = ifNoneMatch.split(',').map((part) => part.trim())
  if (!known.includes('*') && !known.some((part) => part.replace(/^W\//, '') === tag.replace(/^W\//, ''))) return answer
  return { status: 304, headers: { ...always, ETag: tag }, body: Buffer.alloc(0) }
}
