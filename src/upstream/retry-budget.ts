/**
 * Repeats are at most a tenth of the calls, so that a node in trouble never sees more than 1.1 times its load.
 * A few are saved up, for the moment in which all idle connections are closed at once.
 */
const SHARE = 0.1

export class RetryBudget {
  readonly #most: number
  #saved: number

  constructor(most: number) {
    this.#most = most
    this.#saved = most
  }

  called(): void {
    this.#saved = Math.min(this.#most, this.#saved + SHARE)
  }

  /** Gives true when one more repeat is allowed, and counts it. */
  take(): boolean {
    if (this.#saved < 1) return false
    this.#saved -= 1
    return true
  }
}
