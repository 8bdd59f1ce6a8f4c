/**
 * Counts the failed logins at one node. After 50 in 300 s a node refuses all requests of an address, those with a valid
 * token included, and all callers of the edge have one address. So the edge stops before: one caller with a wrong
 * password must not shut out the others.
 */

const WINDOW_MS = 300_000
/** Failures of all names together after which no login is sent. */
const MAX_FAILURES = 40
/** Further failures for credentials that the node accepted before: such logins fail only after a change of the password. */
const RESERVE = 5
/** Failures of one name, so that several names fail before the limit of the node is reached. */
const MAX_FAILURES_PER_NAME = 10

interface Failure {
  readonly name: string
  readonly at: number
}

export class FailedLogins {
  readonly #clock: () => number
  #failures: readonly Failure[] = []

  /** `clock`: monotonic milliseconds. */
  constructor(clock: () => number) {
    this.#clock = clock
  }

  record(name: string): void {
    this.#failures = [...this.#recent(), { name, at: this.#clock() }]
  }

  /** Returns the milliseconds until a login of this name may be sent; 0: now. `isKnown`: the node accepted it before. */
  blockedFor(name: string, isKnown: boolean): number {
    const recent = this.#recent()
    if (isKnown) return this.#timeUntilBelow(recent, MAX_FAILURES + RESERVE)
    const own = recent.filter((failure) => failure.name === name)
    return Math.max(this.#timeUntilBelow(recent, MAX_FAILURES), this.#timeUntilBelow(own, MAX_FAILURES_PER_NAME))
  }

  /** Returns the milliseconds until fewer than `max` of these failures, oldest first, are in the window. */
  #timeUntilBelow(failures: readonly Failure[], max: number): number {
    const last = failures[failures.length - max]
    return last === undefined ? 0 : Math.max(1, last.at + WINDOW_MS - this.#clock())
  }

  #recent(): readonly Failure[] {
    const start = this.#clock() - WINDOW_MS
    return this.#failures.filter(({ at }) => at > start)
  }
}
