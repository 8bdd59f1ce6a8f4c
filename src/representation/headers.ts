/** Headers of a response: for this cache (RFC 9211), and for caches between edge and client (RFC 9110, RFC 9111). */
import { type CacheStatus, formatDetail } from '../core/cache.ts'
import { isProblem, PROBLEM_TYPE } from '../core/origins.ts'
import type { CachedResponse, EnvelopeResponse } from '../core/response.ts'
import type { PreparedHead } from '../core/stored-response.ts'
import type { Coding } from './codings.ts'

export const JSON_TYPE = 'application/json; charset=utf-8'
export const PROBLEM_CONTENT = `${PROBLEM_TYPE}; charset=utf-8`

/** The headers of every response, names and values alternating. `id`: of the request. */
export function commonHeaders(id: string): readonly string[] {
  return ['x-request-id', id, 'x-content-type-options', 'nosniff']
}

/** Returns the names and values of the headers that stay the same for a form. */
export function stableHeadersOf(
  response: EnvelopeResponse,
  etag: string,
  bytes: Buffer,
  coding?: Coding,
): readonly string[] {
  const validators = response.status === 200 ? validatorHeaders(etag) : ERROR_HEADERS
  const encoded = coding === undefined ? [] : ['content-encoding', coding]
  return [...contentHeaders(bytes, isProblem(response)), ...validators, ...encoded]
}

/**
 * Returns the headers of a response of the cache: those of its form, its age and how the cache handled it. Age and time left
 * are sent in whole seconds, so the hits of one second share them.
 */
export function cachedHeaders({ status, response, age: ms }: CachedResponse, head: PreparedHead): readonly string[] {
  const { clusterStatus } = response
  const age = Math.max(0, Math.floor(ms / 1000))
  const ttl = status.ttl === undefined ? undefined : Math.floor(status.ttl / 1000)
  const { last } = head
  const isShared = status.hit === true && status.detail === undefined
  if (isShared && last?.age === age && last.ttl === ttl && last.clusterStatus === clusterStatus) return last.headers
  const own = ['age', String(age), 'cache-status', cacheStatus(status), ...clusterHeaders(clusterStatus)]
  const headers = [...head.stable, ...own]
  if (isShared) head.last = { age, ttl, clusterStatus, headers }
  return headers
}

/** What each node contributed to a joined response (RFC 9651). */
export function clusterHeaders(clusterStatus = ''): readonly string[] {
  return clusterStatus === '' ? [] : ['cluster-status', clusterStatus]
}

export function contentHeaders(bytes: Buffer, isError: boolean): readonly string[] {
  return ['content-type', isError ? PROBLEM_CONTENT : JSON_TYPE, 'content-length', String(bytes.length)]
}

/** Only the client may store it, and must revalidate it on each use: it does not learn of writes. */
const REVALIDATE = 'private, no-cache'
/** `Authorization`: callers with other permissions may get another response from the same URL. */
const VARY = 'Accept-Encoding, Authorization'
/** Of a stored refusal: clients must not store errors. */
const ERROR_HEADERS = ['cache-control', 'no-store', 'vary', VARY]

/** Returns the names and values of the headers that stay the same for an entity tag. */
export function validatorHeaders(etag: string): readonly string[] {
  return ['etag', etag, 'cache-control', REVALIDATE, 'vary', VARY]
}

/** A structured field (RFC 9651): `manager-edge; hit; ttl=4`. */
export function cacheStatus({ hit, fwd, stored, collapsed, ttl, detail }: CacheStatus): string {
  let text = 'manager-edge'
  if (hit) text += '; hit'
  if (fwd !== undefined) text += `; fwd=${fwd}`
  if (stored) text += '; stored'
  if (collapsed) text += '; collapsed'
  if (ttl !== undefined) text += `; ttl=${Math.floor(ttl / 1000)}`
  if (detail !== undefined) text += `; detail=${formatDetail(detail)}`
  return text
}
