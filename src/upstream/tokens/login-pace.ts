/** How often the edge logs in at one node: logins follow each other, and failed ones are remembered for a short time. */
import { LRUCache } from 'lru-cache'
import { Semaphore } from '../../core/semaphore.ts'
import type { LoginFailure } from './login.ts'

/**
 * A login costs a node 130 ms of CPU in its only login process, so a storm of logins, as after a restart, would delay all
 * calls: they are sent one after another, at least a second apart.
 */
const MIN_INTERVAL_MS = 1000
/** Logins that wait. Each waits a second for each one before it. */
const MAX_WAITING = 64

export interface TurnTimes {
  /** Monotonic milliseconds. */
  clock(): number
  sleep(ms: number): Promise<void>
}

export class LoginTurns {
  readonly #times: TurnTimes
  #lastStart = Number.NEGATIVE_INFINITY
  readonly #turn = new Semaphore(() => 1)
  #waiting = 0

  constructor(times: TurnTimes) {
    this.#times = times
  }

  /** Milliseconds until a login that arrives now can start, as far as is known; Infinity if too many wait. */
  get wait(): number {
    if (this.#waiting >= MAX_WAITING) return Number.POSITIVE_INFINITY
    return this.#untilNext() + this.#waiting * MIN_INTERVAL_MS
  }

  /** Runs `work` in its turn, if it is still wanted then; otherwise resolves to `undefined`. */
  async run<T>(work: () => Promise<T>, isWanted: () => boolean): Promise<T | undefined> {
    this.#waiting += 1
    await this.#turn.take()?.taken
    try {
      const pause = isWanted() ? this.#untilNext() : 0
      if (pause > 0) await this.#times.sleep(pause)
      this.#waiting -= 1
      if (!isWanted()) return undefined
      this.#lastStart = this.#times.clock()
      return await work()
    } finally {
      this.#turn.release()
    }
  }

  #untilNext(): number {
    return Math.max(0, this.#lastStart + MIN_INTERVAL_MS - this.#times.clock())
  }
}

interface FailedLogin {
  readonly failure: LoginFailure
  readonly until: number
  /** Consecutive refusals. */
  readonly refusals: number
}

const MAX_ACCOUNTS = 1000
/** A failure of the node is remembered until the next login may start. */
const FAULT_MEMORY_MS = 1000
/** How long refused credentials are remembered: the first time, and at most. Each further refusal doubles the time. */
const REFUSAL_MEMORY_MS = 5_000
const MAX_REFUSAL_MEMORY_MS = 60_000

/** The failed logins of accounts, so that the calls which follow do not repeat them. */
export class LoginMemory {
  readonly #clock: () => number
  readonly #failures = new LRUCache<string, FailedLogin>({ max: MAX_ACCOUNTS })

  /** `clock`: monotonic milliseconds. */
  constructor(clock: () => number) {
    this.#clock = clock
  }

  find(key: string): LoginFailure | undefined {
    const known = this.#failures.get(key)
    return known !== undefined && known.until > this.#clock() ? known.failure : undefined
  }

  /** The node failed, which says nothing about the credentials. */
  addFault(key: string, failure: LoginFailure): void {
    const refusals = this.#failures.get(key)?.refusals ?? 0
    this.#failures.set(key, { failure, until: this.#clock() + FAULT_MEMORY_MS, refusals })
  }

  /** Returns the milliseconds for which it is remembered. */
  addRefusal(key: string, failure: LoginFailure): number {
    const refusals = (this.#failures.get(key)?.refusals ?? 0) + 1
    const ms = Math.min(MAX_REFUSAL_MEMORY_MS, REFUSAL_MEMORY_MS * 2 ** (refusals - 1))
    this.#failures.set(key, { failure, until: this.#clock() + ms, refusals })
    return ms
  }

  forget(key: string): void {
    this.#failures.delete(key)
  }
}
