/** Serves stored responses beyond their time, because the nodes fail or are late. */
import { type CacheStatus, OUTAGE } from '../core/cache.ts'
import { errorNumberOf } from '../core/envelope.ts'
import { CALL_TIMED_OUT, isOutageFailure, nodeFailureOf, OWNER_UNKNOWN } from '../core/error-meanings.ts'
import { onlyNodeOf } from '../core/request.ts'
import type { ReadResponse } from '../core/response.ts'
import type { AgedResponse } from '../core/stored-response.ts'
import { withTimeout } from '../core/timing.ts'
import { lateAfter } from './late-fetches.ts'
import { staleRuleOf } from './lifetimes.ts'
import { computesResponses, type FetchResult, type ReadContext } from './read-context.ts'
import type { ReadPath } from './read-path.ts'
import { serve, toResponse } from './serve.ts'
import type { StoredSource } from './snapshots/computation.ts'

/**
 * Why a stored response is served beyond its time: the error of the nodes, the node that is asked first does not answer at
 * all, or a fetch takes longer than usual.
 */
export type StaleReason = number | 'silent' | 'late'

const DETAILS = { silent: { error: 920 }, late: 'stale-while-revalidate' } as const
/** As many nodes as a call tries, and once more. */
const MAX_ATTEMPTS = 4

/** Returns why no response of the node is to be expected soon, if that is known. */
export function knownFailure({ ports, fetcher }: ReadPath, context: ReadContext): StaleReason | undefined {
  const code = fetcher.recentFailure(context)
  if (code !== undefined) return code
  if (ports.isSilent(context.request)) return 'silent'
  return fetcher.isLate(context) ? 'late' : undefined
}

/**
 * Whether no node answers that could answer the request. Of a joined response that lacks a node, the nodes that answer
 * return the rest, so its parts are not served.
 */
export function isOutage({ request }: ReadContext, reason: StaleReason): boolean {
  if (typeof reason === 'string' || request.reuse !== 'allowed' || onlyNodeOf(request) !== undefined) return false
  return isOutageFailure(reason)
}

/** If the nodes fail or are late, a stored response is served while it is of the same data and within its stale times. */
export async function fetchOrServeStale(path: ReadPath, context: ReadContext, attempt = 1): Promise<ReadResponse> {
  const { lookup, request } = context
  const fetching = path.fetcher.fetchShared(context)
  const hasStale = lookup.kind === 'hit' || computesResponses(context)
  let tried: StaleReason | undefined
  // Two kinds of reads must be fresh, and may take long: a part of a joined response that is refreshed, and a read of all rows.
  if (hasStale && request.reuse === 'allowed' && request.effort === 'bounded') {
    // It may fail after a stale response was served.
    fetching.catch(() => undefined)
    const known = knownFailure(path, context)
    const patience = path.ports.waitForRead(request, 0) + lateAfter(lookup)
    const reason = known ?? (await failureOf(withTimeout(fetching, patience, 'late' as const)))
    const stale = reason === undefined ? undefined : await findStale(path, context, reason)
    if (stale !== undefined) return stale
    // If the fetch went on, another replica may have stored a response meanwhile.
    if (known === undefined) tried = reason
  }
  const failure = await failureOf(fetching)
  const stale = failure === undefined || failure === tried ? undefined : await findStale(path, context, failure)
  if (stale !== undefined) return stale
  // A node was found to hang meanwhile. Others may answer; if none does, the next error shows it.
  const mayHang = failure === CALL_TIMED_OUT && path.ports.isSilent(request) && attempt < MAX_ATTEMPTS
  if (mayHang && (context.target.lifetimes.outage ?? 0) > 0) return fetchOrServeStale(path, context, attempt + 1)
  const result = await fetching
  return result.kind === 'failed' ? result.response : toResponse(result, forwardReasonOf(context))
}

function forwardReasonOf({ lookup }: ReadContext): 'stale' | 'uri-miss' {
  return lookup.kind === 'hit' ? 'stale' : 'uri-miss'
}

/** Resolves to why a stale response is better than the result of the fetch; `undefined`: it is not. */
export async function failureOf(fetching: Promise<FetchResult | 'late'>): Promise<StaleReason | undefined> {
  try {
    const result = await fetching
    if (result === 'late') return result
    return result.kind === 'failed' ? result.code : undefined
  } catch (fault) {
    return nodeFailureOf(fault)
  }
}

/**
 * Returns the stored response, or one that is computed from a stored snapshot. A second lookup, since a write may have been
 * acknowledged while the nodes were called. A response that is not served while nodes fail is not served here either while
 * it is fresh: the request wanted a newer one.
 */
async function findStale(path: ReadPath, context: ReadContext, reason: StaleReason): Promise<ReadResponse | undefined> {
  const fwd = forwardReasonOf(context)
  const serveFound: StoredSource['serve'] = async ({ key, tags }) => {
    const lookup = await path.ports.store.lookup(key, tags)
    if (lookup.kind !== 'hit' || lookup.epochs.fenced) return undefined
    return serveStale(context, lookup, { status: { fwd }, reason })
  }
  const own = fwd === 'stale' ? await serveFound(context.target) : undefined
  if (own !== undefined) return own
  const computed = await path.fetcher.computeStored(context, { serve: serveFound })
  return computed && toResponse(computed, fwd)
}

/** Returns undefined for a response that may not be served for this reason. */
export function serveStale(
  context: ReadContext,
  stored: AgedResponse,
  { status, reason }: { readonly status: CacheStatus; readonly reason: StaleReason },
): ReadResponse | undefined {
  const { response } = stored
  const { ttl, staleIfError, staleInOutage } = response
  if (stored.age < ttl + staleInOutage && isOutage(context, reason)) return serve(stored, { ...status, detail: OUTAGE })
  const rule = staleRuleOf(context.target.policy, errorNumberOf(response))
  if (reason === OWNER_UNKNOWN || rule !== 'allowed') return undefined
  const detail = typeof reason === 'string' ? DETAILS[reason] : { error: reason }
  return stored.age < ttl + staleIfError ? serve(stored, { ...status, detail }) : undefined
}
