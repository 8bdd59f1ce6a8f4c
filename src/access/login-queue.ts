/** The checks of passwords that run at the same time, and those that wait for one of them. */
import { Semaphore, type SlotWait } from '../core/semaphore.ts'
import { LOGIN_RANKS, type LoginRank } from './login-attempts.ts'

export interface CheckLimits {
  /** Checks that run at the same time. */
  readonly concurrency: number
  /** Checks that wait, for each lane. */
  readonly maxQueued: number
}

/** Limits concurrent password checks. Each rank has a lane, which the others cannot fill. */
export class LoginQueue {
  readonly #limits: CheckLimits
  readonly #slots: Semaphore

  constructor(limits: CheckLimits) {
    this.#limits = limits
    this.#slots = new Semaphore(() => limits.concurrency, LOGIN_RANKS)
  }

  /** How many checks one after the other must end until those of the lane have begun. */
  turnsBefore(lane: LoginRank): number {
    return this.#slots.waiting(lane) / this.#limits.concurrency
  }

  /** Runs the check as soon as a slot is free. Returns `undefined` at once if its lane is full. */
  run<T>(check: () => Promise<T>, lane: LoginRank): Promise<T> | undefined {
    if (!this.#slots.isFree && this.#slots.waiting(lane) >= this.#limits.maxQueued) return undefined
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
