/**
 * The stage around writes: fence what the write touches, forward, lift the fence with
 * what the answer names besides, and only then answer. Whatever a write may have done unheard keeps its fence.
 */

import { dataOf, isOutcomeUnknown, isPartlyDone, isUnfinished } from '../core/envelope.ts'
import { EdgeError } from '../core/errors.ts'
import type { CacheEvent } from '../core/events.ts'
import type { AsyncHandler, EdgeRequest, Stage } from '../core/request.ts'
import type { EdgeResponse } from '../core/response.ts'
import type { CopiedData } from './copied.ts'
import type { CacheStore, WriteFence } from './stores/contract.ts'
import { type StaleTags, staleTags } from './tags.ts'

export interface InvalidatePorts {
  readonly store: CacheStore
  readonly copied: CopiedData
  /** Name of the master. */
  readonly master: () => string
  readonly onEvent: (event: CacheEvent) => void
}

/** When the store may be there again, in seconds. */
const RETRY_AFTER = '5'

/** Throws 930 when the cache cannot be made right and the write was not sent; else rejects as `next` does. */
export function invalidate(ports: InvalidatePorts): Stage {
  return (next) => async (ask) => {
    const { endpoint } = ask
    // Half a write helps nobody: what was begun goes on when the client leaves.
    const detached = { ...ask, signal: new AbortController().signal }
    if (!('invalidates' in endpoint) || endpoint.invalidates.length === 0) return next(detached)
    const stale = staleTags(endpoint, ask, ports.master())
    const fence = await raise(ports, stale)
    if (ask.signal.aborted) {
      void fence.lift([])
      throw ask.signal.reason
    }
    return forward(ports, next, detached, fence, stale)
  }
}

async function raise({ store, copied }: InvalidatePorts, { asked }: StaleTags): Promise<WriteFence> {
  const fence = await store.fence(asked)
  if (fence.state === 'refused') throw new EdgeError(930, '', { headers: { 'retry-after': RETRY_AFTER } })
  copied.wrote(asked)
  return fence
}

async function forward(
  ports: InvalidatePorts,
  next: AsyncHandler,
  ask: EdgeRequest,
  fence: WriteFence,
  stale: StaleTags,
): Promise<EdgeResponse> {
  let answer: EdgeResponse
  try {
    answer = await next(ask)
  } catch (fault) {
    if (isOutcomeUnknown(fault)) await leave(ports, fence, stale)
    else if (isPartlyDone(fault)) await fence.lift(stale.answered())
    // Nothing was sent, so nothing is to be waited for.
    else void fence.lift([])
    throw fault
  }
  if (isUnfinished(answer)) {
    await leave(ports, fence, stale)
    return answer
  }
  const more = stale.answered(dataOf(answer))
  ports.copied.wrote([...stale.asked, ...more])
  await fence.lift(more)
  ports.onEvent({ kind: 'stale', cause: 'write', tags: stale.asked.length + more.length })
  return answer
}

/** The fence stays, and one stands from now on around all that the answer would have named. */
async function leave(
  { store, onEvent }: InvalidatePorts,
  fence: WriteFence,
  { asked, answered }: StaleTags,
): Promise<void> {
  fence.keepUntilLeaseEnds()
  const unnamed = answered()
  onEvent({ kind: 'stale', cause: 'unknown', tags: asked.length + unnamed.length })
  if (unnamed.length > 0) (await store.fence(unnamed)).keepUntilLeaseEnds()
}
