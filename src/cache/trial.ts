/**
 * The read-only trial (`cache.trial`): the nodes answer every read, and the response that the cache would have served is
 * compared with theirs. The cache itself works as always, so that its hits, refreshes and snapshots are the real ones.
 */

import { cacheOutcomeOf, type TrialDetail } from '../core/cache.ts'
import type { CacheIndex } from '../core/cache-index.ts'
import { routeOf } from '../core/endpoint-names.ts'
import { EdgeError } from '../core/errors.ts'
import type { CacheEvent } from '../core/events.ts'
import { cachedOf } from '../core/origins.ts'
import type { EdgeRead, EdgeWrite, Stage } from '../core/request.ts'
import type { EdgeResponse, Origin } from '../core/response.ts'
import { type Comparison, compareResponses } from './compare-responses.ts'
import type { CachePorts } from './read-context.ts'

interface TrialPorts extends Pick<CachePorts, 'resolveTarget' | 'onEvent'> {
  readonly store: Pick<CacheIndex, 'peek'>
}

/** `cache` is the stage around reads; it must not share the call of another request (`neverCollapses`). */
export function trial(ports: TrialPorts, cache: Stage<EdgeRead>): Stage<EdgeRead> {
  return (next) => {
    const read = cache(next)
    return async (request) => {
      const target = ports.resolveTarget(request)
      if (typeof target === 'string' || request.reuse === 'noStore') return read(request)
      const before = await ports.store.peek(target.key, target.tags)
      const epochs = before.kind === 'unavailable' ? undefined : before.epochs
      const cached = await read(request)
      const status = cached.kind === 'file' ? undefined : cachedOf(cached)?.status
      // A response that may not be stored, such as an error of the manager, is fetched for each request.
      const outcome = status === undefined ? 'miss' : cacheOutcomeOf(status)
      const { group } = target.policy
      const trialRead = { requestId: request.requestId, group, route: routeOf(request.endpoint), cache: outcome }
      /** Without a comparison, the cache would have called the nodes too. */
      const report = (compared?: Comparison) => emit(ports, trialRead, compared)
      if (cached.kind === 'file' || isOfThisRequest(cached.origin)) {
        report()
        return toTrialResponse(cached, { trial: outcome })
      }
      let current: EdgeResponse
      try {
        current = await next(request)
      } catch (fault) {
        report({ outcome: 'inconclusive' })
        throw fault
      }
      const compared = await compareResponses(ports.store, { target, epochs, stored: cached.body, current })
      report(compared)
      return toTrialResponse(current, { trial: `${outcome}-${compared.outcome}` })
    }
  }
}

/** The stage in front of all writes during a trial. Throws 942; nothing is sent. */
export const refuseWritesInTrial: Stage<EdgeWrite> = () => async () => {
  throw new EdgeError(942)
}

/** Whether the response comes unchanged from a call to the nodes that this request began. */
function isOfThisRequest(origin: Origin): boolean {
  if (origin.kind === 'fetched') return origin.status.collapsed === undefined && isOfThisRequest(origin.from)
  return origin.kind !== 'stored' && origin.kind !== 'computed'
}

/** No client stores the response, or gets 304 for an older one. */
function toTrialResponse(response: EdgeResponse, detail: TrialDetail): EdgeResponse {
  if (response.kind === 'file') return response
  return { ...response, origin: { kind: 'trial', status: { fwd: 'bypass', detail }, of: response.origin } }
}

type TrialRead = Pick<Extract<CacheEvent, { kind: 'trial' }>, 'requestId' | 'group' | 'route' | 'cache'>

/** Also as a comparison of the divergence check, whose counts the console shows by cache group. */
function emit({ onEvent }: TrialPorts, read: TrialRead, compared: Comparison | undefined): void {
  if (compared !== undefined) onEvent({ kind: 'verified', group: read.group, outcome: compared.outcome })
  onEvent({
    kind: 'trial',
    ...read,
    comparison: compared?.outcome ?? 'none',
    ...(compared?.outcome === 'different' && { difference: compared.difference }),
  })
}
