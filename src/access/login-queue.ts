/** The checks of passwords that run at the same time, and those that wait for one of them. */
import { Semaphore, type SlotWait } from '../core/semaphore.ts'
import { LOGIN_RANKS, type LoginRank } from './login-attempts.ts'

/**
 * Limits concurrent password checks. Each rank has a lane, which the others cannot fill. `concurrency`: checks that run at the
 * same time; `maxQueued`: checks that wait, for each lane.
 */
export class LoginQueue {
  readonly #maxQueued: number
  readonly #slots: Semaphore

  constructor({ concurrency, maxQueued }: { readonly concurrency: number; readonly maxQueued: number }) {
    this.#maxQueued = maxQueued
    this.#slots = new Semaphore(() => concurrency, LOGIN_RANKS)
  }

  /** Runs the check as soon as a slot is free. Returns `undefined` at once if its lane is full. */
  run<T>(check: () => Promise<T>, lane: LoginRank): Promise<T> | undefined {
    if (!this.#slots.isFree && this.#slots.waiting(lane) >= this.#maxQueued) return undefined
    return this.#runInSlot(check, this.#slots.take(lane))
  }

  async #runInSlot<T>(check: () => Promise<T>, wait: SlotWait | undefined): Promise<T> {
    if (wait !== undefined) await wait.taken
    try {
      return await check()
    } finally {
      this.#slots.release()
    }
  }
}
