/** One fetch for all replicas: under the fetch lock of the response, which they share through Redis. */
import type { EdgeRead, Handler } from '../core/request.ts'
import type { ReadResponse } from '../core/response.ts'
import type { AgedResponse, Lookup } from '../core/stored-response.ts'
import { timeLimitOf, withTimeout } from '../core/timing.ts'
import { callNodes } from './call-nodes.ts'
import type { CachePorts, FetchResult, ReadContext } from './read-context.ts'
import { responseOf } from './serve.ts'
import { awaitStore } from './store-response.ts'

/**
 * The holder of a fetch lock renews its lease. The lock of a replica that was killed ends with the lease, and others wait for it
 * until then: so the lease is short, although a read of many calls may take minutes.
 */
const MAX_LEASE_MS = 10_000
/** The lease of a short read is its time limit and this. */
const LOCK_GRACE_MS = 2000
/** After this many fetch locks of other replicas ended without a stored response, fetch without a lock. */
const MAX_LOCK_ATTEMPTS = 3

/**
 * Fetches under the fetch lock, or returns what the replica that holds the lock has stored. Waits for the end of that lock
 * without a time limit: the holder renews its lease while it fetches.
 */
export async function fetchOverReplicas(
  ports: CachePorts,
  next: Handler<EdgeRead, ReadResponse>,
  context: ReadContext,
): Promise<FetchResult> {
  const { request, target } = context
  let { lookup } = context
  const known = lookup.kind === 'hit' ? lookup : undefined
  // A call without a time limit may take minutes: it neither holds a fetch lock nor waits for one.
  const attempts = request.waitForComplete || ports.neverCollapses ? 0 : MAX_LOCK_ATTEMPTS
  for (let attempt = 0; attempt < attempts && lookup.kind !== 'unavailable'; attempt += 1) {
    // A client does not wait for a read of minutes.
    const isComplete = request.effort === 'complete'
    const acquired = ports.store.acquireFetchLock(
      isComplete ? `${target.key} complete` : target.key,
      lookup.epochs,
      Math.min(MAX_LEASE_MS, timeLimitOf(request, ports.limits()) + LOCK_GRACE_MS),
      request.client.presence,
    )
    const lock = acquired instanceof Promise ? await acquired : acquired
    const isMissing = lock.held && lock.isMissing && lookup.kind === 'miss' && !isComplete
    // The response may have been stored meanwhile.
    if (!isMissing) lookup = await ports.store.lookup(target.key, target.tags)
    const found = isMissing ? undefined : storedMeanwhile(lookup, known)
    if (lock.held) {
      let storing: Promise<void> | 'done' | undefined
      try {
        if (found !== undefined) return found
        const fetched = await callNodes(ports, next, context, lookup, lock.shared)
        storing = fetched.storing
        return await awaitStore(fetched)
      } finally {
        void Promise.resolve(storing).then(lock.release)
      }
    }
    if (found !== undefined) return found
    await withTimeout(lock.settled, Number.POSITIVE_INFINITY, undefined, request.client.signal)
  }
  return awaitStore(await callNodes(ports, next, context, await ports.store.lookup(target.key, target.tags)))
}

/** Returns what another replica has stored since, if it is fresh and of another fetch than the response that is known. */
function storedMeanwhile(lookup: Lookup, known: AgedResponse | undefined): FetchResult | undefined {
  if (lookup.kind !== 'hit' || lookup.epochs.fenced) return undefined
  if (lookup.age >= lookup.response.ttl || (known !== undefined && isOfSameFetch(lookup, known))) return undefined
  return { kind: 'cacheable', response: responseOf(lookup, {}), entry: lookup, collapsed: true }
}

/** A v4 response may be older than `known` was when it was looked up: its fetch may have taken longer. */
function isOfSameFetch({ response: { fetchTime, body }, age }: AgedResponse, known: AgedResponse): boolean {
  return fetchTime === known.response.fetchTime && body.equals(known.response.body) && age >= known.age
}
