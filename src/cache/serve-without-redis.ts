/** Reads while Redis is unreachable, so that no write of another replica can be noticed. */
import { WITHOUT_REDIS } from '../core/cache.ts'
import { errorNumberOf } from '../core/envelope.ts'
import { onlyNodeOf } from '../core/request.ts'
import type { ReadResponse } from '../core/response.ts'
import type { Lookup } from '../core/stored-response.ts'
import type { CacheTarget } from './key.ts'
import { staleRuleOf } from './lifetimes.ts'
import { lookUpWithoutRedis, type ReadContext, servesWithoutRedis } from './read-context.ts'
import { type ReadPath, refreshSoon } from './read-path.ts'
import { serve, toResponse } from './serve.ts'
import { failureOf, isOutage, type StaleReason, serveStale } from './serve-stale.ts'
import type { StoredSource } from './snapshots/computation.ts'
import { storageLifetime } from './stores/local-entries.ts'

/**
 * Without Redis, no replica receives the invalidations of the others. If the operator prefers stale responses, those of the local tier, and
 * what its snapshots determine, are served and marked, and expired ones are refreshed for this replica. If no other replica
 * writes, the fresh ones are as good as ever.
 */
export function respondWithoutRedis(path: ReadPath, context: ReadContext): ReadResponse | Promise<ReadResponse> {
  const { ports, fetcher } = path
  const { request } = context
  const isServed =
    servesWithoutRedis(ports, context) && request.reuse === 'allowed' && onlyNodeOf(request) === undefined
  if (!isServed) return fetcher.fetchLatest(context, false).then(({ response }) => response)
  const lookup = lookUpWithoutRedis(ports, context)
  const stored = serveFound(path, context, lookup)
  if (stored === undefined) return computeOrCall(path, context)
  if (lookup?.kind === 'hit' && lookup.age >= lookup.response.ttl) {
    const wait = ports.waitForRead(request, ports.waiting.others)
    refreshSoon(path, { ...context, lookup }, wait, storageLifetime(lookup.response) - lookup.age)
  }
  return stored
}

async function computeOrCall(path: ReadPath, context: ReadContext): Promise<ReadResponse> {
  const { fetcher } = path
  const find = async (serve: StoredSource['serve'], isOnlySource = false): Promise<ReadResponse | undefined> => {
    const computed = await fetcher.computeStored(context, { serve, isOnlySource, isLocal: true })
    return computed && toResponse(computed, 'uri-miss')
  }
  const computed = await find(serveLocal(path, context))
  if (computed !== undefined) return computed
  const fetching = fetcher.fetchLatest(context, false)
  const failure = await failureOf(fetching)
  if (failure !== undefined) {
    const serve = serveLocal(path, context, failure)
    const stale = serve(context.target) ?? (await find(serve, isOutage(context, failure)))
    if (stale !== undefined) return stale
  }
  return toResponse(await fetching, 'uri-miss')
}

/** Returns what serves the local tier while Redis is unreachable. `failure`: why the nodes did not answer; absent: they were not asked. */
function serveLocal(path: ReadPath, context: ReadContext, failure?: StaleReason) {
  return ({ key, tags }: Pick<CacheTarget, 'key' | 'tags'>): ReadResponse | undefined =>
    serveFound(path, context, path.ports.store.lookupWithoutRedis?.(key, tags), failure)
}

function serveFound(
  { ports, fetcher }: ReadPath,
  context: ReadContext,
  found: Lookup | undefined,
  failure?: StaleReason,
): ReadResponse | undefined {
  if (found?.kind !== 'hit') return undefined
  const { ttl, staleInOutage } = found.response
  if (ports.isOnlyReplica()) {
    if (failure !== undefined) return serveStale(context, found, { status: { fwd: 'uri-miss' }, reason: failure })
    if (found.age < ttl) return serve(found, { hit: true })
  }
  const { withoutRedis } = context.target.lifetimes
  if (withoutRedis === undefined) return undefined
  const rule = staleRuleOf(context.target.policy, errorNumberOf(found.response))
  // A status is not served because nodes fail, except in an outage; and clients must see the error of a node that answers.
  const isRefused = (failure !== undefined && rule !== 'allowed') || fetcher.wasRefused(context)
  const usual = rule === 'never' || isRefused ? 0 : withoutRedis
  const bound = failure !== undefined && isOutage(context, failure) ? staleInOutage : usual
  return found.age < ttl + bound ? serve(found, { hit: true, detail: WITHOUT_REDIS }) : undefined
}
