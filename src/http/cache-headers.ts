/** What caches may know of an answer: our own (RFC 9211), and those on its way and in browsers (RFC 9111). */
import type { CachedResponse, CacheStatus } from '../core/response.ts'
import { serializeItem } from '../core/structured-fields.ts'

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
