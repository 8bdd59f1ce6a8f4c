/**
 * The head of a node's answer, which is foreign input (security.md, API10): what no node of ours says is
 * refused, not repaired. Headers that are not read here (Set-Cookie, Location, ETag, …) end here.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Failure } from './failure.ts'

export interface Head {
  readonly status: number
  /** Media type without parameters, in lower case. */
  readonly type: string
  readonly length?: number
  /** A raw file: to be passed on as it comes. */
  readonly streamed: boolean
  /** It speaks to one caller: it sets a cookie, or says credentials again. */
  readonly personal: boolean
}

export interface Expected {
  readonly expect: 'bytes' | 'stream'
  /** Bytes. */
  readonly most: number
}

export function readHead(status: number, headers: IncomingHttpHeaders, expected: Expected): Head | Failure {
  const single = (name: string) => (Object.hasOwn(headers, name) ? headers[name] : undefined)
  if (status === 401) return { fault: 'refusedCredentials', detail: 'status 401' }
  // Nothing that the edge asks is answered by 1xx or a redirect; a redirect could lead anywhere.
  if (status < 200 || (status > 299 && status < 400) || status > 599) return unreadable(`status ${status}`)
  if (single('content-encoding') !== undefined) return unreadable('Content-Encoding was not asked for')
  const length = bodyLength(single('content-length'), single('transfer-encoding'))
  if (length === 'unclear') return unreadable('length of the body is not clear')
  if (length !== undefined && length > expected.most) return tooLarge(expected.most)
  const type = mediaType(single('content-type'))
  const streamed = expected.expect === 'stream' && status === 200 && type === 'text/xml'
  if (!streamed && type !== 'application/json') return unreadable(`content type ${type}`)
  const personal = single('set-cookie') !== undefined || single('authorization') !== undefined
  return { status, type, ...(length !== undefined && { length }), streamed, personal }
}

export function tooLarge(most: number): Failure {
  return { fault: 'tooLarge', detail: `more than ${most} bytes` }
}

function unreadable(detail: string): Failure {
  return { fault: 'unreadable', detail }
}

/**
 * One Content-Length or `chunked`: both at once is how answers are smuggled (RFC 9112 section 6.3), and
 * neither means that a cut answer looks like a whole one.
 */
function bodyLength(length: Value, coding: Value): number | undefined | 'unclear' {
  if (length === undefined) return coding === 'chunked' ? undefined : 'unclear'
  if (coding !== undefined || typeof length !== 'string' || !/^[0-9]{1,15}$/.test(length)) return 'unclear'
  return Number(length)
}

/** Only a well-formed type is named in a message. */
function mediaType(value: Value): string {
  const type = typeof value === 'string' ? (value.split(';')[0] ?? '').trim().toLowerCase() : ''
  return /^[a-z0-9.+-]{1,64}\/[a-z0-9.+-]{1,64}$/.test(type) ? type : 'none'
}

type Value = string | string[] | undefined
