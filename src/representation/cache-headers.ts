/** The cache headers of responses: for this cache (RFC 9211), and for caches between edge and client (RFC 9110, RFC 9111). */
import type { CacheStatus } from '../core/cache-status.ts'
import type { CachedResponse } from '../core/response.ts'
import { serializeItem } from '../core/values.ts'

/** Only the client may store it, and must revalidate it on each use: it does not learn of writes. */
const REVALIDATE = 'private, no-cache'
/** `Authorization`: callers with other permissions may get another response from the same URL. */
const VARY = 'Accept-Encoding, Authorization'

/** Returns the names and values of the headers that stay the same for an entity tag. */
export function validatorHeaders(etag: string): readonly string[] {
  return ['etag', etag, 'cache-control', REVALIDATE, 'vary', VARY]
}

/** Returns the names and values of the headers that are particular to one response. */
export function cacheHeaders(cached: CachedResponse): string[] {
  return ['age', String(wholeSeconds(cached).age), 'cache-status', cacheStatus(cached.status)]
}

/** Returns age and time left as they are sent, in seconds. */
export function wholeSeconds({ response, status: { ttl } }: CachedResponse): { age: number; ttl: number | undefined } {
  return {
    age: Math.max(0, Math.floor(response.age / 1000)),
    ttl: ttl === undefined ? undefined : Math.floor(ttl / 1000),
  }
}

/** A structured field (RFC 9651): `manager-edge; hit; ttl=4`. */
export function cacheStatus({ hit, fwd, stored, collapsed, ttl, detail }: CacheStatus): string {
  let text = 'manager-edge'
  if (hit) text += '; hit'
  if (fwd !== undefined) text += `; fwd=${fwd}`
  if (stored) text += '; stored'
  if (collapsed) text += '; collapsed'
  if (ttl !== undefined) text += `; ttl=${Math.floor(ttl / 1000)}`
  if (detail !== undefined) text += `; detail=${serializeItem(detail)}`
  return text
}

const ENTITY_TAG = /[\t ,]*(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")[\t ]*(?=,|$)/y
/** A longer list is ignored. */
const MAX_LIST_LENGTH = 8192

/**
 * Returns whether `If-None-Match` contains this entity tag. Tags are compared weakly (RFC 9110 section 13.1.2); a
 * malformed list matches nothing. `etag` is strong and includes its quotes.
 */
export function matchesEtag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined || ifNoneMatch.length > MAX_LIST_LENGTH) return false
  if (ifNoneMatch === etag || ifNoneMatch === '*') return true
  ENTITY_TAG.lastIndex = 0
  for (let found = ENTITY_TAG.exec(ifNoneMatch); found !== null; found = ENTITY_TAG.exec(ifNoneMatch)) {
    if (found[1] === etag) return true
  }
  return false
}

/** Returns the entity tag of another representation of the same response: `"abc"` and `gzip` give `"abc-gzip"`. */
export function representationEtag(etag: string, representation: string): string {
  return `${etag.slice(0, -1)}-${representation}"`
}
