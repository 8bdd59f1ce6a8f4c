/**
 * The stages around writes. `invalidate` fences the tags that a write touches, sends the write to the nodes, invalidates
 * these tags and those that the response names, and returns the response only then. If the outcome of a write is unknown,
 * its fence stays for the time of its lease. `writeLockStage` lets some writes follow each other.
 */
import type { Tag } from '../catalogue/endpoint.ts'
import { dataOf, errorNumberOf, isOutcomeUnknown, isPartlyDone, isUnfinished } from '../core/envelope.ts'
import { EdgeError } from '../core/errors.ts'
import type { CacheEvent } from '../core/events.ts'
import { SharedPresence } from '../core/presence.ts'
import type { CopyState, EdgeWrite, Handler, Stage } from '../core/request.ts'
import type { EdgeResponse, Lookup } from '../core/response.ts'
import { Semaphore } from '../core/semaphore.ts'
import { type TimeLimits, timeLimitOf, withTimeout } from '../core/timing.ts'
import { type InvalidatedTags, invalidatedTags, lockNameOf } from './policy.ts'
import { type AcquireWriteLock, type CacheStore, STORE_WAIT_MS, type WriteFence } from './stores/contract.ts'

export interface InvalidatePorts {
  readonly store: CacheStore
  readonly replicationLag: ReplicationLag
  /** Returns all nodes, master first. */
  readonly nodes: () => readonly { readonly name: string }[]
  /**
   * Returns the milliseconds until a node may answer again; `undefined`: one may answer now. A fence would invalidate what is
   * served in an outage, for a write that no node receives. Absent: it is not known.
   */
  readonly outageFor?: () => number | undefined
  readonly onEvent: (event: CacheEvent) => void
  /** Limits the time of a call to the nodes. The store gets as much time before the call. */
  readonly limits: () => TimeLimits
  /** Milliseconds, monotonic. */
  readonly clock: () => number
}

const NOT_CONFIRMED =
  '. Do not repeat it blindly. Its data are read from the manager until the write fence is lifted, or its lease ends'
/** Seconds after which the store may be reachable again, or another write has ended. */
const RETRY_AFTER_S = '5'

/**
 * Throws 920 in an outage, and 930 if the store has not confirmed the fence; the write was not sent then. Throws 943 if the
 * write was carried out and the store has not confirmed its invalidation. Else rejects as `next` does.
 */
export function invalidate(ports: InvalidatePorts): Stage<EdgeWrite> {
  return (next) => async (request) => {
    const { endpoint, client } = request
    // A write that was sent is completed even if the client disconnects. One that waits for a node is dropped then.
    const presence = new SharedPresence()
    presence.join(client.presence)
    const detached = { ...request, client: { signal: new AbortController().signal, presence } }
    if (endpoint.invalidates.length === 0) return next(detached)
    const outageFor = ports.outageFor?.()
    if (outageFor !== undefined) {
      const seconds = Math.max(1, Math.ceil(outageFor / 1000))
      throw new EdgeError(920, ' (no node answers)', { headers: { 'retry-after': `${seconds}` } })
    }
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
    const lift = (more: readonly Tag[]) => fence.lift(more, Math.max(STORE_WAIT_MS, deadline - ports.clock()))
    return sendFenced(ports, next, detached, { ...fence, lift }, tags)
  }
}

async function sendFenced(
  ports: InvalidatePorts,
  next: Handler<EdgeWrite>,
  request: EdgeWrite,
  fence: Omit<WriteFence, 'lift'> & { lift(more: readonly Tag[]): Promise<boolean> },
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
  const fromResponse = tags.fromResponse(isLong(response) ? undefined : dataOf(response))
  ports.replicationLag.noteWrite([...tags.fromRequest, ...fromResponse])
  const isLifted = await fence.lift(fromResponse)
  const cause = isLifted ? 'write' : 'unknown'
  ports.onEvent({ kind: 'invalidated', cause })
  // A manager that reports an error has changed nothing.
  if (!isLifted && errorNumberOf(response) === 0) throw new EdgeError(943, NOT_CONFIRMED)
  return response
}

/**
 * A longer response body is not parsed, which would block the event loop. It usually names more values than policy.ts
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

/** Tags of data that worker nodes replicate from the master. */
const REPLICATED_TAGS: ReadonlySet<Tag> = new Set(['rules', 'decoders', 'lists'])
const REPLICATED_FAMILY = 'group:'

/**
 * Worker nodes check for changes of replicated data every 9 s. Until two checks have passed after a change, a worker
 * may still answer with older data, so reads of it go to the master only.
 */
export type ReplicationLag = ReturnType<typeof createReplicationLag>

interface ReplicationLagPorts {
  /** `replicationLag`: milliseconds. */
  readonly settings: () => { readonly replicationLag: number }
  readonly clock: () => number
}

/** A write through another replica counts from when this replica first sees its epochs. */
export function createReplicationLag({ settings, clock }: ReplicationLagPorts) {
  const lagEnds = new Map<Tag, number>()
  const knownEpochs = new Map<Tag, { readonly epoch: string; readonly since: number }>()
  return {
    /** To be called for a write through this replica of the edge. */
    noteWrite: (tags: readonly Tag[]): void => {
      for (const tag of tags) if (isReplicated(tag)) lagEnds.set(tag, clock() + settings().replicationLag)
    },
    /** Returns the state of the copies of data with these tags. Writes through other replicas show in the epochs of the lookup. */
    stateOf: (tags: readonly Tag[], lookup: Lookup): CopyState => {
      const replicated = tags.filter(isReplicated)
      if (replicated.length === 0) return 'current'
      if (lookup.kind === 'unavailable') return replicated.some(isLagging) ? 'lagging' : 'unknown'
      const { generation, epochs, fenced } = lookup.epochs
      if (fenced) return 'lagging'
      for (const tag of replicated) noteEpoch(tag, `${generation} ${epochs[tags.indexOf(tag)]}`)
      if (replicated.some(isLagging)) return 'lagging'
      return replicated.every(isKnownForPeriod) ? 'current' : 'unknown'
    },
  }

  function noteEpoch(tag: Tag, epoch: string): void {
    const known = knownEpochs.get(tag)
    if (known?.epoch === epoch) return
    if (known !== undefined) lagEnds.set(tag, clock() + settings().replicationLag)
    knownEpochs.set(tag, { epoch, since: clock() })
  }

  /** Whether no replica can have written within the period. */
  function isKnownForPeriod(tag: Tag): boolean {
    const known = knownEpochs.get(tag)
    return known !== undefined && clock() - known.since >= settings().replicationLag
  }

  function isLagging(tag: Tag): boolean {
    const end = lagEnds.get(tag)
    if (end === undefined) return false
    if (end > clock()) return true
    lagEnds.delete(tag)
    return false
  }
}

function isReplicated(tag: Tag): boolean {
  return REPLICATED_TAGS.has(tag) || tag.startsWith(REPLICATED_FAMILY)
}

export interface WriteLockPorts {
  readonly locks: WriteLocks
  readonly master: () => string
  /** Milliseconds that a write waits for the lock at most. */
  readonly timeoutOf: (request: EdgeWrite) => number
}

/**
 * One write at a time for a name, over all replicas: registrations of agents, and uploads to one path. Within the
 * process writes queue for the name. The first in the queue takes a lock in the shared store, whose lease ends if the
 * replica dies. While Redis is unreachable, each replica has its own locks. Throws 934 if the lock was not free in time;
 * nothing was sent then.
 */
export function writeLockStage({ locks, master, timeoutOf }: WriteLockPorts): Stage<EdgeWrite> {
  return (next) => async (request) => {
    const { endpoint, client } = request
    if (endpoint.writeLock === undefined) return next(request)
    const name = lockNameOf(endpoint.writeLock, request, master())
    const lock = await locks.acquire(name, timeoutOf(request), client.signal)
    if (lock === undefined) throw new EdgeError(934, '', { headers: { 'retry-after': RETRY_AFTER_S } })
    try {
      return await next(request)
    } finally {
      // The response does not wait for the store.
      void lock.release()
    }
  }
}

/** Milliseconds after which the lock of a replica that died or hangs is free again. */
const LEASE_MS = 10_000

export type WriteLocks = ReturnType<typeof createWriteLocks>

/** `acquireShared`: the locks of the store that replicas share; absent: locks of this process only. */
export function createWriteLocks(acquireShared?: AcquireWriteLock, leaseMs = LEASE_MS) {
  const queues = new Map<string, Semaphore>()
  return {
    /** Resolves with the lock, or with `undefined` after `timeout` milliseconds. Rejects if the signal is aborted. */
    acquire: async (name: string, timeout: number, signal: AbortSignal) => {
      const deadline = performance.now() + timeout
      const queue = queues.get(name) ?? new Semaphore(() => 1)
      queues.set(name, queue)
      const turn = queue.take()
      const leave = (): undefined => {
        if (turn === undefined) queue.release()
        else turn.leave()
        if (queue.isFree) queues.delete(name)
      }
      try {
        if (turn !== undefined && !(await settlesInTime(turn.taken, deadline, signal))) return leave()
        const release = await acquireInStore(name, deadline, signal)
        return release === undefined ? leave() : { release: () => release().then(leave) }
      } catch (fault) {
        leave()
        throw fault
      }
    },
  }

  async function acquireInStore(name: string, deadline: number, signal: AbortSignal) {
    if (acquireShared === undefined) return async () => {}
    for (;;) {
      const lock = await acquireShared(name, leaseMs)
      if (lock.held) return lock.release
      if (!(await settlesInTime(lock.settled, deadline, signal))) return undefined
    }
  }
}

function settlesInTime(settled: Promise<unknown>, deadline: number, signal: AbortSignal): Promise<boolean> {
  const inTime = settled.then(() => true)
  return withTimeout(inTime, Math.max(0, deadline - performance.now()), false, signal)
}
