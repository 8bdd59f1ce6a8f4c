/** One write at a time for a name. */

import type { CancelSignal } from '../core/cancellation.ts'
import { EdgeError } from '../core/errors.ts'
import type { EdgeWrite, Stage } from '../core/request.ts'
import { Semaphore } from '../core/semaphore.ts'
import { withTimeout } from '../core/timing.ts'
import type { AcquireWriteLock } from './stores/contract.ts'
import { lockNameOf } from './tags.ts'

/** Seconds after which another write may have ended. */
const RETRY_AFTER_S = '5'

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
    acquire: async (name: string, timeout: number, signal: CancelSignal) => {
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

  async function acquireInStore(name: string, deadline: number, signal: CancelSignal) {
    if (acquireShared === undefined) return async () => {}
    for (;;) {
      const lock = await acquireShared(name, leaseMs)
      if (lock.held) return lock.release
      if (!(await settlesInTime(lock.settled, deadline, signal))) return undefined
    }
  }
}

function settlesInTime(settled: Promise<unknown>, deadline: number, signal: CancelSignal): Promise<boolean> {
  const inTime = settled.then(() => true)
  return withTimeout(inTime, Math.max(0, deadline - performance.now()), false, signal)
}
