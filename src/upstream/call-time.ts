/** How long a call on one node takes at the moment, and so how long who waits will wait. */

/** Weight of the newest call in the average: what was slow is believed slowly, recovery at once. */
const SLOWER = 0.2
const QUICKER = 0.5
/** Nobody is told to come back later than that: the estimate is rough. */
const LONGEST_RETRY = 30

export class CallTime {
  #average = 0

  get average(): number {
    return this.#average
  }

  took(newest: number): void {
    const before = this.#average
    this.#average = before === 0 ? newest : before + (newest - before) * (newest > before ? SLOWER : QUICKER)
  }

  /** Milliseconds until one who has so many before it may go. */
  wait(ahead: number, places: number): number {
    return ((ahead + 1) * this.#average) / places
  }

  /** Whole seconds, to be told to who is sent away. */
  retryAfter(ahead: number, places: number): number {
    return Math.min(LONGEST_RETRY, Math.max(1, Math.ceil(this.wait(ahead, places) / 1000)))
  }
}
