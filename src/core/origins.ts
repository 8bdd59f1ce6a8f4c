/** What the origin of a response says about it. */
import type { CacheStatus } from './cache.ts'
import type {
  CacheableResponse,
  CachedResponse,
  EnvelopeResponse,
  MadeOfParts,
  NodeOrigin,
  Origin,
  StoredOrigin,
} from './response.ts'

/** By which the v4 contract reports errors (RFC 9457). */
export const PROBLEM_TYPE = 'application/problem+json'
/** A response that is its only part. */
export const NO_PARTS: MadeOfParts = {
  clusterStatus: '',
  completeness: 'complete',
  oldestPartAge: 0,
  partsFreshFor: Number.POSITIVE_INFINITY,
  mark: undefined,
}

/** Returns how the cache handled a response; `undefined`: it may not be stored. */
export function cachedOf({ origin }: EnvelopeResponse): CachedResponse | undefined {
  return origin.kind === 'stored' || origin.kind === 'fetched' ? origin : undefined
}

/** Returns the same of a response that the cache did not handle itself: a trial, or parts that are marked. */
export function uncachedStatusOf(origin: Origin): CacheStatus | undefined {
  if (origin.kind === 'trial') return origin.status
  const { mark, partsFreshFor } = partsOf(origin)
  return mark && { fwd: 'uri-miss', ttl: partsFreshFor, detail: mark }
}

/** Returns a stored response as it was before it was stored. */
export function envelopeOfStored(origin: StoredOrigin): EnvelopeResponse<StoredOrigin> {
  const { status, body, errorNumber } = origin.response
  return { kind: 'envelope', status, body, errorNumber, origin }
}

export function partsOf(origin: CacheableResponse['origin']): MadeOfParts {
  switch (origin.kind) {
    case 'edge':
      return NO_PARTS
    case 'node':
      return {
        ...NO_PARTS,
        completeness: origin.namesFailedNodes ? 'partial' : 'complete',
        oldestPartAge: origin.age,
      }
    case 'stored':
      return { ...NO_PARTS, clusterStatus: origin.response.clusterStatus }
    case 'fetched':
      return partsOf(origin.from)
    case 'trial':
      return partsOf(origin.of)
    default:
      return origin
  }
}

export function isPartial({ origin }: CacheableResponse): boolean {
  const { completeness } = partsOf(origin)
  return completeness === 'partial' || completeness === 'cut'
}

/** Returns the response of a node within a response; `undefined`: it was stored or joined. */
export function nodeOriginOf(origin: Origin): NodeOrigin | undefined {
  if (origin.kind === 'fetched') return nodeOriginOf(origin.from)
  if (origin.kind === 'trial') return nodeOriginOf(origin.of)
  return origin.kind === 'node' ? origin : undefined
}

/** Whether the body is `application/problem+json`. */
export function isProblem({ origin }: EnvelopeResponse): boolean {
  if (origin.kind === 'stored') return origin.response.contentType === PROBLEM_TYPE
  return nodeOriginOf(origin)?.isProblem ?? false
}
