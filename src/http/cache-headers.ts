import caching, { type AbstractCacheCompliantObject } from '@fastify/caching'
import type { FastifyInstance } from 'fastify'
import type { CachedResponse, CacheStatus } from '../core/response.ts'
import { serializeItem } from '../core/structured-fields.ts'

/** What caches may know of an answer: our own (RFC 9211), and those on its way and in browsers (RFC 9111). */

/** Of what nobody may keep: secrets, errors, writes. */
export const NO_STORE = 'no-store'

/** Kept by the client alone, and asked for again each time: it would not hear of a write. */
const REVALIDATED = 'private, no-cache'
/** `Authorization`: people with other rights may get another answer at the same URL. */
const VARY = 'Accept-Encoding, Authorization'

/** Of each answer with this tag, names and values in turn. `etag` is that of the representation that goes out. */
export function validators(etag: string): readonly string[] {
  return ['etag', etag, 'cache-control', REVALIDATED, 'vary', VARY]
}

/** Of this one alone. */
export function cacheHeaders({ response: answer, status }: CachedResponse): string[] {
  return ['age', String(Math.max(0, Math.floor(answer.age / 1000))), 'cache-status', cacheStatus(status)]
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

/** Conditional requests (RFC 9110 section 13.1.2), read strictly: what is no list of entity tags matches nothing. */

const TAG = /[\t ,]*(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")[\t ]*(?=,|$)/y
/** Longer lists are those of nobody who means well. */
const LONGEST = 8192

/**
 * Does `If-None-Match` name this entity tag? Compared weakly, as the RFC wants it here: the client asks whether what
 * it holds still serves. `etag` is strong, with its quotes.
 */
export function namesTag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined || ifNoneMatch.length > LONGEST) return false
  if (ifNoneMatch === etag || ifNoneMatch === '*') return true
  TAG.lastIndex = 0
  for (let found = TAG.exec(ifNoneMatch); found !== null; found = TAG.exec(ifNoneMatch)) {
    if (found[1] === etag) return true
  }
  return false
}

/** The tag of another representation of the same answer: `"abc"` and `gzip` give `"abc-gzip"`. */
export function tagOf(etag: string, representation: string): string {
  return `${etag.slice(0, -1)}-${representation}"`
}

/**
 * @fastify/caching, where it is good: the header of answers that are not ours to keep. Its 304 hook goes by the tag alone,
 * whatever the URL and whoever asks, so it is given a memory that holds nothing, and it is registered in the scope of
 * these routes only: hooks of the app, which let nobody in unknown, run before those of a scope.
 */

/** In the style of callbacks: with promises the plugin never answers. */
const nothing: AbstractCacheCompliantObject = {
  get: (_key: unknown, done?: (fault: null, found: null) => void) => {
    done?.(null, null)
    return Promise.resolve(null)
  },
  set: (_key, _value, _life, done) => done?.(null, undefined),
}

/** From now on every answer of this scope without a `Cache-Control` says `no-store`. */
export async function notKeptHeaders(scope: FastifyInstance): Promise<void> {
  await scope.register(caching, { privacy: NO_STORE, cache: nothing })
}
