/** One call to the nodes, whose response is stored under the epochs that were valid before the call. */

import { AbandonedError } from '../core/presence.ts'
import type { EdgeRead, Handler, LateAnswer } from '../core/request.ts'
import type { ReadResponse } from '../core/response.ts'
import type { Lookup } from '../core/stored-response.ts'
import { type CachePorts, lookUpWithoutRedis, type ReadContext } from './read-context.ts'
import { type Fetched, storeResponse } from './store-response.ts'
import type { SharedLock } from './stores/contract.ts'
import { epochsText } from './stores/epochs.ts'

/**
 * Calls the nodes. The response is stored under the epochs of `lookup`, which was made before the call: if a write
 * changes them meanwhile, the stored response is never served. Its age is counted from the start of the call, because
 * the data may be that old. It is fresh for the TTL after its arrival, less the age that it arrived with (RFC 9111 section
 * 4.2.3), and a joined response not longer than its parts. `lock`: the fetch lock, if it is that of the response.
 */
export async function callNodes(
  ports: CachePorts,
  next: Handler<EdgeRead, ReadResponse>,
  context: ReadContext,
  lookup: Lookup,
  lock?: SharedLock,
): Promise<Fetched> {
  const { group } = context.target.policy
  const started = ports.clock()
  // Without Redis, a response is stored for this replica alone. A write of another one has changed the epochs in Redis.
  const ofThisReplica = lookup.kind === 'unavailable' ? lookUpWithoutRedis(ports, context) : undefined
  const before = ofThisReplica ?? lookup
  const emit = (outcome: 'stored' | 'notStorable' | 'failed') =>
    ports.onEvent({ kind: 'fetch', group, outcome, ms: ports.clock() - started })
  const late: LateAnswer = { calls: [] }
  const request = nodeRequest(ports, context, lookup, late)
  let response: ReadResponse
  try {
    response = await next(request)
  } catch (fault) {
    if (!(fault instanceof AbandonedError)) emit('failed')
    const answerLate = () => next({ ...request, deadline: Number.POSITIVE_INFINITY })
    void storeLate(ports, context, { lookup: before, late, started, answerLate }).catch(() => undefined)
    throw fault
  }
  const fetchTime = ports.clock() - started
  const isLocal = ofThisReplica !== undefined
  const fetched = await storeResponse(ports, context, { lookup: before, response, fetchTime, isLocal, lock })
  emit(fetched.storing === undefined ? 'notStorable' : 'stored')
  return fetched
}

interface LateFetch {
  readonly lookup: Lookup
  readonly late: LateAnswer
  readonly started: number
  readonly answerLate: () => ReadResponse | Promise<ReadResponse>
}

/** Stores the response of a call that timed out when it comes, unless a write has begun, or a later fetch was stored. */
async function storeLate(
  ports: CachePorts,
  context: ReadContext,
  { lookup, late, started, answerLate }: LateFetch,
): Promise<void> {
  // The rows of a snapshot come with many calls.
  if (context.request.extent === 'allRows' || !(await late.late?.result)?.ok) return
  const response = await answerLate()
  const fetchTime = ports.clock() - started
  const shared = await ports.store.lookup(context.target.key, context.target.tags)
  const isLocal = shared.kind === 'unavailable'
  const now = isLocal ? lookUpWithoutRedis(ports, context) : shared
  if (now === undefined || epochsText(now) !== epochsText(lookup) || (now.kind === 'hit' && now.age < fetchTime)) return
  await storeResponse(ports, context, { lookup, response, fetchTime, isLocal })
}

function nodeRequest(ports: CachePorts, context: ReadContext, lookup: Lookup, late: LateAnswer): EdgeRead {
  const { request, target, lookup: atArrival } = context
  const { policy, tags } = target
  const copies = policy.isReplicated ? ports.replicationLag.stateOf(tags, lookup) : request.copies
  if (atArrival.kind !== 'hit' || request.reuse === 'noCache') return { ...request, copies, late }
  const { age, response } = atArrival
  // Stored parts that arrived before the stored response would give the same response again, and parts that are about to
  // expire a response that is about to expire.
  const arrivedWithin = Math.min(age - response.fetchTime, target.lifetimes.ttl / 2)
  return { ...request, copies, late, reuse: { arrivedWithin } }
}
