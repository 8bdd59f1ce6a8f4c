import type { Tag } from '../catalogue/endpoint.ts'
import { dataOf, isOutcomeUnknown, isPartlyDone, isUnfinished } from '../core/envelope.ts'
import { EdgeError } from '../core/errors.ts'
import type { CacheEvent } from '../core/events.ts'
import type { EdgeRequest, Handler, Stage } from '../core/request.ts'
import type { EdgeResponse, Lookup } from '../core/response.ts'
import type { CacheStore, WriteFence } from './stores/contract.ts'
import { type InvalidatedTags, invalidatedTags } from './tags.ts'

/**
 * The stage around writes: fence what the write touches, forward, lift the fence with
 * what the answer names besides, and only then answer. Whatever a write may have done unheard keeps its fence.
 */

export interface InvalidatePorts {
  readonly store: CacheStore
  readonly replicationLag: ReplicationLag
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
    const stale = invalidatedTags(endpoint, ask, ports.master())
    const fence = await raise(ports, stale)
    if (ask.signal.aborted) {
      void fence.lift([])
      throw ask.signal.reason
    }
    return forward(ports, next, detached, fence, stale)
  }
}

async function raise(
  { store, replicationLag: copied }: InvalidatePorts,
  { fromRequest: asked }: InvalidatedTags,
): Promise<WriteFence> {
  const fence = await store.fence(asked)
  if (fence.state === 'refused') throw new EdgeError(930, '', { headers: { 'retry-after': RETRY_AFTER } })
  copied.noteWrite(asked)
  return fence
}

async function forward(
  ports: InvalidatePorts,
  next: Handler,
  ask: EdgeRequest,
  fence: WriteFence,
  stale: InvalidatedTags,
): Promise<EdgeResponse> {
  let answer: EdgeResponse
  try {
    answer = await next(ask)
  } catch (fault) {
    if (isOutcomeUnknown(fault)) await leave(ports, fence, stale)
    else if (isPartlyDone(fault)) await fence.lift(stale.fromResponse())
    // Nothing was sent, so nothing is to be waited for.
    else void fence.lift([])
    throw fault
  }
  if (isUnfinished(answer)) {
    await leave(ports, fence, stale)
    return answer
  }
  const more = stale.fromResponse(dataOf(answer))
  ports.replicationLag.noteWrite([...stale.fromRequest, ...more])
  await fence.lift(more)
  ports.onEvent({ kind: 'invalidated', cause: 'write', tags: stale.fromRequest.length + more.length })
  return answer
}

/** The fence stays, and one stands from now on around all that the answer would have named. */
async function leave(
  { store, onEvent }: InvalidatePorts,
  fence: WriteFence,
  { fromRequest: asked, fromResponse: answered }: InvalidatedTags,
): Promise<void> {
  fence.keepUntilLeaseEnds()
  const unnamed = answered()
  onEvent({ kind: 'invalidated', cause: 'unknown', tags: asked.length + unnamed.length })
  if (unnamed.length > 0) (await store.fence(unnamed)).keepUntilLeaseEnds()
}

/**
 * Data that workers copy from the master (contract/semantics.md section 4: checked every 9 s). For two rounds after a
 * change a worker may still hold what was before, so reads of it go to the master alone.
 */

const COPIED: ReadonlySet<Tag> = new Set(['rules', 'decoders', 'lists'])
const COPIED_FAMILY = 'group:'

export interface ReplicationLag {
  /** A write through this replica touches, or has touched, these tags. */
  noteWrite(tags: readonly Tag[]): void
  /** Has any of the tags been touched of late? The look shows the writes of other replicas, as epochs that moved. */
  mayLag(tags: readonly Tag[], look: Lookup): boolean
}

/** `period` in milliseconds. A write of another replica counts from the moment at which this one saw it. */
export function createReplicationLag({ period, clock }: { period: number; clock: () => number }): ReplicationLag {
  const until = new Map<Tag, number>()
  const epochs = new Map<Tag, string>()
  const touch = (tag: Tag) => until.set(tag, clock() + period)
  const compare = (tag: Tag, epoch: string) => {
    const before = epochs.get(tag)
    if (before !== undefined && before !== epoch) touch(tag)
    epochs.set(tag, epoch)
  }
  const pending = (tag: Tag): boolean => {
    const end = until.get(tag)
    if (end === undefined) return false
    if (end > clock()) return true
    until.delete(tag)
    return false
  }
  return {
    noteWrite: (tags) => tags.filter(isCopied).forEach(touch),
    mayLag: (tags, look) => {
      const copied = tags.filter(isCopied)
      if (copied.length === 0) return false
      if (look.kind !== 'unavailable') {
        if (look.epochs.fenced) return true
        for (const tag of copied) compare(tag, `${look.epochs.generation} ${look.epochs.epochs[tags.indexOf(tag)]}`)
      }
      return copied.some(pending)
    },
  }
}

function isCopied(tag: Tag): boolean {
  return COPIED.has(tag) || tag.startsWith(COPIED_FAMILY)
}
