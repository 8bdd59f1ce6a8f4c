/**
 * The stage around writes. It fences the tags that a write touches, sends the write to the nodes, invalidates these tags and
 * those that the response names, and returns the response only then. If the outcome of a write is unknown, its fence stays
 * for the time of its lease.
 */

import type { Tag } from '../contracts/endpoint.ts'
import { Cancellation } from '../core/cancellation.ts'
import { dataOf, errorNumberOf } from '../core/envelope.ts'
import { isOutcomeUnknown, isPartlyDone, isUnfinished } from '../core/error-meanings.ts'
import { EdgeError, retryAfter } from '../core/errors.ts'
import type { EdgeWrite, Handler, Stage } from '../core/request.ts'
import type { EdgeResponse } from '../core/response.ts'
import { timeLimitOf } from '../core/timing.ts'
import type { CachePorts } from './read-context.ts'
import { type CacheStore, STORE_WAIT_MS, type WriteFence } from './stores/contract.ts'
import { type InvalidatedTags, invalidatedTags } from './tags.ts'

/**
 * `limits`: of a call to the nodes; the store gets as much time before the call. `outageFor`: a fence would invalidate what is
 * served in an outage, for a write that no node receives.
 */
interface InvalidatePorts extends Pick<CachePorts, 'replicationLag' | 'outageFor' | 'onEvent' | 'limits' | 'clock'> {
  readonly store: CacheStore
  /** Returns all nodes, master first. */
  readonly nodes: () => readonly { readonly name: string }[]
}

const NOT_CONFIRMED =
  '. Do not repeat it blindly. Its data are read from the manager until the write fence is lifted, or its lease ends'
/** Seconds after which the store may be reachable again. */
const RETRY_AFTER_S = '5'

/**
 * Throws 920 in an outage, and 930 if the store has not confirmed the fence; the write was not sent then. Throws 943 if the
 * write was carried out and the store has not confirmed its invalidation. Else rejects as `next` does.
 */
export function invalidate(ports: InvalidatePorts): Stage<EdgeWrite> {
  return (next) => async (request) => {
    const { endpoint, client } = request
    // A write that was sent is completed even if the client disconnects. One that waits for a node is dropped then.
    const { presence } = client
    const detached = { ...request, client: { signal: new Cancellation(), ...(presence && { presence }) } }
    if (endpoint.invalidates.length === 0) return next(detached)
    const outageFor = ports.outageFor?.()
    if (outageFor !== undefined) throw new EdgeError(920, ' (no node answers)', { headers: retryAfter(outageFor) })
    const tags = invalidatedTags(endpoint, request, ports.nodes()[0]?.name ?? '')
    const limit = timeLimitOf(request, ports.limits())
    const deadline = ports.clock() + limit
    const fence = await ports.store.fence(tags.fromRequest, limit)
    if (fence.state === 'refused') throw new EdgeError(930, '', { headers: { 'retry-after': RETRY_AFTER_S } })
    ports.replicationLag.noteWrite(tags.fromRequest)
    if (client.signal.aborted) {
      void fence.lift([])
      throw client.signal.reason
    }
    // The end of the fence has what the write leaves of its time.
    const lift = (more: readonly Tag[]) => fence.lift(more, Math.max(STORE_WAIT_MS, deadline - ports.clock()))
    return sendFenced(ports, next, detached, { ...fence, lift }, tags)
  }
}

async function sendFenced(
  ports: InvalidatePorts,
  next: Handler<EdgeWrite>,
  request: EdgeWrite,
  fence: WriteFence,
  tags: InvalidatedTags,
): Promise<EdgeResponse> {
  let response: EdgeResponse
  try {
    response = await next(request)
  } catch (fault) {
    if (isOutcomeUnknown(fault)) await keepFence(ports, fence, tags)
    else if (isPartlyDone(fault)) await fence.lift(tags.fromResponse())
    // No node has the write, so the error need not wait for the store.
    else void fence.lift([])
    throw fault
  }
  if (isUnfinished(response)) {
    await keepFence(ports, fence, tags)
    return response
  }
  const fromResponse = tags.needsResponse ? tags.fromResponse(isLong(response) ? undefined : dataOf(response)) : []
  ports.replicationLag.noteWrite([...tags.fromRequest, ...fromResponse])
  const isLifted = await fence.lift(fromResponse)
  const cause = isLifted ? 'write' : 'unknown'
  ports.onEvent({ kind: 'invalidated', cause })
  // A manager that reports an error has changed nothing.
  if (!isLifted && errorNumberOf(response) === 0) throw new EdgeError(943, NOT_CONFIRMED)
  return response
}

/**
 * A longer response body is not parsed, which would block the event loop. It usually names more values than tags.ts
 * expands into single tags, so the wildcard of the family is invalidated instead.
 */
const MAX_PARSED_BYTES = 64 * 1024

function isLong(response: EdgeResponse): boolean {
  return response.kind === 'envelope' && response.body.length > MAX_PARSED_BYTES
}

/** Leaves the fence until its lease ends, and fences all that the missing response might have named. */
async function keepFence(
  { store, onEvent }: InvalidatePorts,
  fence: Pick<WriteFence, 'keepUntilLeaseEnds'>,
  tags: InvalidatedTags,
): Promise<void> {
  fence.keepUntilLeaseEnds()
  const fromResponse = tags.fromResponse()
  onEvent({ kind: 'invalidated', cause: 'unknown' })
  if (fromResponse.length > 0) (await store.fence(fromResponse)).keepUntilLeaseEnds()
}
