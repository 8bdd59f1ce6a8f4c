/** Which responses may be stored, and what is stored of them. */

import { errorNumberOf, etagOf } from '../core/envelope.ts'
import { reportedNodeFailure } from '../core/error-meanings.ts'
import { isPartial, isProblem, PROBLEM_TYPE, partsOf } from '../core/origins.ts'
import {
  type CacheableResponse,
  type EnvelopeResponse,
  REFUSED_BY_RIGHTS,
  type ReadResponse,
  type SnapshotResponse,
  type StorableOrigin,
} from '../core/response.ts'
import { type Lookup, StoredForms, type StoredRead } from '../core/stored-response.ts'
import { withTimeout } from '../core/timing.ts'
import { staleRuleOf, staleTimesOf } from './lifetimes.ts'
import type { CachePorts, FetchResult, ReadContext } from './read-context.ts'
import type { SharedLock } from './stores/contract.ts'
import type { StaleTimes } from './stores/local-entries.ts'

/**
 * Whether a response may be stored: successful, without stale parts, for every caller, and complete except for rows that
 * no node can return. Or it is a refusal by rights, which are a part of the key.
 */
export function isStorable(response: ReadResponse): response is EnvelopeResponse<StorableOrigin> | SnapshotResponse {
  if (response.kind === 'snapshot') return !isPartial(response)
  if (response.kind === 'file') return false
  const { origin, status, errorNumber } = response
  if (status === 403 && errorNumber === REFUSED_BY_RIGHTS) return origin.kind === 'node' && !origin.isPersonal
  if (status !== 200 || errorNumber !== 0) return false
  switch (origin.kind) {
    case 'node':
      return !origin.isPersonal && !origin.namesFailedNodes
    case 'joined':
    case 'computed':
      return origin.completeness === 'complete' || origin.completeness === 'knownGaps'
    default:
      return false
  }
}

export interface Fetched {
  readonly result: FetchResult
  /** Resolves when the store has processed the response; `done`: it has. Absent: it is not stored. */
  readonly storing?: Promise<void> | 'done'
}

/** A response, the lookup that was made before it was fetched, and the milliseconds that its fetch took. */
interface NewResponse {
  readonly lookup: Lookup
  readonly response: ReadResponse
  readonly fetchTime: number
  /** It is stored for this replica alone. Absent: for all. */
  readonly isLocal?: boolean
  /** Under which it was fetched. */
  readonly lock?: SharedLock | undefined
}

/** Stores a response if it may be stored, under the epochs of the lookup. */
export async function storeResponse(
  ports: CachePorts,
  context: ReadContext,
  { lookup, response, fetchTime, isLocal = false, lock }: NewResponse,
): Promise<Fetched> {
  const { policy, key, tags, info } = context.target
  const epochs = lookup.kind === 'unavailable' || lookup.epochs.fenced ? undefined : lookup.epochs
  const isComputed = response.kind === 'envelope' && response.origin.kind === 'computed'
  if ((epochs === undefined && !isComputed) || !isStorable(response)) return { result: unstoredResult(response) }
  const { clusterStatus, oldestPartAge: initialAge, partsFreshFor } = partsOf(response.origin)
  const lifetimes = ports.lifetimesOf(policy.group, policy.name)
  // Without parts that were stored here, the age is that of a cache in front of the node.
  const isOfNodes = partsFreshFor === Number.POSITIVE_INFINITY
  const freshFor = isOfNodes ? lifetimes.ttl - initialAge : Math.min(lifetimes.ttl, partsFreshFor)
  const age = fetchTime + initialAge
  const stale = staleTimesOf({ stale: staleRuleOf(policy, errorNumberOf(response)) }, lifetimes, fetchTime)
  const etag = response.kind === 'envelope' ? etagOf(response.body) : ''
  const times = { ttl: age + freshFor, fetchTime, clusterStatus }
  const stored = storedOf(response, etag instanceof Promise ? await etag : etag, stale, times)
  const result = { kind: 'cacheable', response, entry: { response: stored, age } } as const
  if (epochs === undefined || freshFor <= 0) return { result }
  const storing = ports.store.store({ key, tags, epochs, stored, initialAge, info, isLocal, lock })
  return { result, storing: storing ?? 'done' }
}

type ReadTimes = Pick<StoredRead, 'ttl' | 'fetchTime' | 'clusterStatus'>

/** Written out: to spread the times of each response takes several times its memory. */
function storedOf(response: CacheableResponse, etag: string, stale: StaleTimes, times: ReadTimes): StoredRead {
  const { body } = response
  if (response.kind === 'snapshot')
    return { ...stale, ...times, kind: response.kind, body, rowBytes: response.origin.rowBytes }
  return {
    kind: 'response',
    status: response.status,
    errorNumber: response.errorNumber,
    contentType: isProblem(response) ? PROBLEM_TYPE : '',
    body,
    etag,
    forms: new StoredForms(),
    ttl: times.ttl,
    staleWhileRevalidate: stale.staleWhileRevalidate,
    staleIfError: stale.staleIfError,
    staleInOutage: stale.staleInOutage,
    staleWithoutRedis: stale.staleWithoutRedis,
    staleWhileHot: stale.staleWhileHot,
    fetchTime: times.fetchTime,
    clusterStatus: times.clusterStatus,
  }
}

function unstoredResult(response: ReadResponse): FetchResult {
  const code = reportedNodeFailure(response)
  if (code !== undefined) return { kind: 'failed', response, code }
  return { kind: errorNumberOf(response) === 0 ? 'uncacheable' : 'refused', response }
}

/** A response waits at most this long to be stored, so that the next request finds it. */
const MAX_STORING_WAIT_MS = 50

/** Waits a short time for the store, so that a slow store does not delay the response. */
export function awaitStore({ result, storing }: Fetched): FetchResult | Promise<FetchResult> {
  if (storing === undefined) return result
  const stored = { stored: true as const, ...result }
  return storing === 'done'
    ? stored
    : withTimeout(
        storing.then(() => stored),
        MAX_STORING_WAIT_MS,
        result,
      )
}
