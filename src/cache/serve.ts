/** Responses as the cache returns them, with their cache status. */
import { type CacheStatus, WITHOUT_REDIS } from '../core/cache.ts'
import { envelopeOfStored, NO_PARTS } from '../core/origins.ts'
import type { EnvelopeResponse, ReadResponse, SnapshotResponse, StoredOrigin } from '../core/response.ts'
import type { AgedResponse, StoredResponse } from '../core/stored-response.ts'
import type { FetchResult } from './read-context.ts'

export function serve(stored: AgedResponse, how: CacheStatus, repeat?: StoredOrigin['repeat']) {
  return responseOf(stored, withTtl(how, stored.response.ttl - stored.age), repeat)
}

/** Written out: objects made by spreads have many hidden classes in V8, which slows down every later access. */
function withTtl({ hit, fwd, detail }: CacheStatus, ttl: number): CacheStatus {
  const status: { -readonly [Name in keyof CacheStatus]: CacheStatus[Name] } = { ttl }
  if (hit !== undefined) status.hit = hit
  if (fwd !== undefined) status.fwd = fwd
  if (detail !== undefined) status.detail = detail
  return status
}

/** Returns the fetched response; if it may be stored, with its cache status. */
export function toResponse(result: FetchResult, fwd: NonNullable<CacheStatus['fwd']>): ReadResponse {
  if (result.kind !== 'cacheable') return result.response
  const { response, entry, stored, collapsed } = result
  const from = response.kind === 'envelope' && response.origin.kind === 'computed' ? response.origin.from : undefined
  const ttl = entry.response.ttl - entry.age
  const status: CacheStatus =
    from === 'stored' || from === WITHOUT_REDIS
      ? { hit: true, ttl, detail: from === 'stored' ? 'snapshot' : from }
      : {
          fwd,
          ...(stored && !collapsed && { stored }),
          ...(collapsed && { collapsed }),
          ttl,
          ...(from !== undefined && { detail: from === 'fetched' ? 'snapshot' : from }),
        }
  const { response: entered, age } = entry
  if (response.kind === 'snapshot') return { ...response, cached: { response: entered, age, status } }
  const { origin } = response
  return { ...response, origin: { kind: 'fetched', response: entered as StoredResponse, age, status, from: origin } }
}

/** Returns what is stored as a read through the cache returns it. */
export function responseOf(
  { response, age }: AgedResponse,
  status: CacheStatus,
  repeat?: StoredOrigin['repeat'],
): EnvelopeResponse<StoredOrigin> | SnapshotResponse {
  if (response.kind === 'response') return envelopeOfStored({ kind: 'stored', response, age, status, repeat })
  const { kind, body, rowBytes, clusterStatus } = response
  return { kind, body, origin: { ...NO_PARTS, kind, rowBytes, clusterStatus }, cached: { response, age, status } }
}
