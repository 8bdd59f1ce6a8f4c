/**
 * Runs the logins at one node one after another, at least a second apart. A login costs a node 130 ms of CPU in its only
 * login process, so a storm of logins, as after a restart, would delay all calls.
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
  #waiting = 0
  #tail: Promise<unknown> = Promise.resolve()

  constructor(times: TurnTimes) {
    this.#times = times
  }

  /** Milliseconds until a login that arrives now can start, as far as is known; Infinity if too many wait. */
  get wait(): number {
    if (this.#waiting >= MAX_WAITING) return Number.POSITIVE_INFINITY
    return this.#untilNext() + this.#waiting * MIN_INTERVAL_MS
  }

  /** Runs `work` in its turn, if it is still wanted then; otherwise resolves to `undefined`. */
  run<T>(work: () => Promise<T>, isWanted: () => boolean): Promise<T | undefined> {
    this.#waiting += 1
    const result = this.#tail.then(() => this.#runNext(work, isWanted))
    this.#tail = result.catch(() => undefined)
    return result
  }

  async #runNext<T>(work: () => Promise<T>, isWanted: () => boolean): Promise<T | undefined> {
    const pause = isWanted() ? this.#untilNext() : 0
    if (pause > 0) await this.#times.sleep(pause)
    this.#waiting -= 1
    if (!isWanted()) return undefined
    this.#lastStart = this.#times.clock()
    return work()
  }

  #untilNext(): number {
    return Math.max(0, this.#lastStart + MIN_INTERVAL_MS - this.#times.clock())
  }
}
