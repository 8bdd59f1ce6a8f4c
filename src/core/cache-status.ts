/** How the cache handled a request, in the words of RFC 9211. */

/** The detail of a stale response that is served because nodes fail, with the code of their error (a token, RFC 9651). */
export type StaleIfError = `stale-if-error/${number}`

export function isStaleIfError(detail: string | undefined): detail is StaleIfError {
  return detail?.startsWith('stale-if-error/') === true
}

/** Why a response is not from the cache: the words of RFC 9211 section 2.2, and what they mean. */
export const forwardReasons = {
  'uri-miss': { outcome: 'miss', text: 'No response was stored.' },
  stale: { outcome: 'miss', text: 'The stored response had expired.' },
  request: { outcome: 'bypass', text: 'The client asked for a new response with Cache-Control.' },
  bypass: { outcome: 'bypass', text: 'The cache was not used.' },
} as const

/**
 * How the cache handled a request, in the words of RFC 9211 section 2. `ttl` in milliseconds; negative if stale. `key`: the
 * digest of the cache key, for the recorded reads; clients do not get it.
 */
export interface CacheStatus {
  readonly hit?: true
  readonly fwd?: keyof typeof forwardReasons
  readonly stored?: true
  readonly collapsed?: true
  readonly ttl?: number
  readonly key?: number
  readonly detail?: string
}

/** `bypass`: not cacheable, or the cache was not used; `none`: the request was rejected or failed before the cache. */
export const CACHE_OUTCOMES = ['hit', 'stale', 'miss', 'bypass', 'none'] as const
export type CacheOutcome = (typeof CACHE_OUTCOMES)[number]

/** `none`: the cache would not have answered, so there is nothing to compare. */
export type TrialComparison = 'same' | 'different' | 'inconclusive' | 'none'

/** Returns a cache status as one word. */
export function cacheOutcomeOf({ hit, fwd, detail }: CacheStatus): CacheOutcome {
  if (detail?.startsWith('stale-')) return 'stale'
  if (hit) return 'hit'
  return forwardReasons[fwd ?? 'bypass'].outcome
}
