/**
 * One write at a time for a name, over all replicas: registrations of agents, and uploads to one path. Within the
 * process writes queue for the name. The first in the queue takes a lock in the shared store, whose lease ends if the
 * replica dies. While Redis is unreachable, each replica has its own locks.
 */
import { createHash } from 'node:crypto'
import { EdgeError } from '../core/errors.ts'
import type { EdgeWrite, Stage } from '../core/request.ts'
import type { TagEpochs } from '../core/response.ts'
import { Semaphore } from '../core/semaphore.ts'
import { withTimeout } from '../core/timing.ts'
import { lockNameOf } from './policy.ts'
import type { CacheStore } from './stores/contract.ts'

export interface WriteLockPorts {
  readonly locks: WriteLocks
  /** Returns the name of the master node. */
  readonly master: () => string
  /** Milliseconds that a write waits for the lock at most. */
  readonly timeoutOf: (request: EdgeWrite) => number
}

/** Seconds after which a client may send the write again. */
const RETRY_AFTER_S = '5'

/** The stage around writes with a lock. Throws 934 if the lock was not free in time; nothing was sent then. */
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
/** A write lock is a fetch lock whose epochs never change. Replicas of all releases share this name of the lock. */
const LOCK_EPOCHS: TagEpochs = { generation: 'turn', epochs: [], fenced: false }
const LOCK_PREFIX = 'turn:'

export type WriteLocks = ReturnType<typeof createWriteLocks>

/** `acquireShared`: the locks of the store that replicas share; absent: locks of this process only. */
export function createWriteLocks(acquireShared?: CacheStore['acquireFetchLock'], leaseMs = LEASE_MS) {
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
        if (release === undefined) return leave()
        return {
          release: async () => {
            await release()
            leave()
          },
        }
      } catch (fault) {
        leave()
        throw fault
      }
    },
  }

  async function acquireInStore(name: string, deadline: number, signal: AbortSignal) {
    if (acquireShared === undefined) return async () => {}
    // Names contain paths, but keys of the store are plain text.
    const key = LOCK_PREFIX + createHash('sha256').update(name).digest('base64url')
    for (;;) {
      const lock = await acquireShared(key, LOCK_EPOCHS, leaseMs)
      if (lock.held) return lock.release
      if (!(await settlesInTime(lock.settled, deadline, signal))) return undefined
    }
  }
}

function settlesInTime(settled: Promise<unknown>, deadline: number, signal: AbortSignal): Promise<boolean> {
  const inTime = settled.then(() => true)
  return withTimeout(inTime, Math.max(0, deadline - performance.now()), false, signal)
}
