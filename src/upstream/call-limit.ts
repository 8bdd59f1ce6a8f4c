/**
 * The limit of concurrent calls to one node, between 1 and a maximum (`cluster.limits.inFlight`). A slow node keeps it: only
 * explicit signs that the node has too many calls lower it.
 *
 * - The node has too many calls at once (503, 429 without a limit of calls per minute, a refused or lost connection): the
 *   limit falls by 1. A 429 at a limit of calls per minute concerns `call-budget.ts` alone.
 * - A call times out: the limit falls to 0.7 of the calls in flight.
 *
 * A sign counts if the latest calls of more than a third of the endpoints ended with one: if only a few endpoints hang, a
 * lower limit takes slots from the others. A call that was alone on the node does not count, and neither do calls that began
 * before the latest cut.
 *
 * Each answer raises the limit by `1 / (limit * patience)`. Each cut multiplies the patience by 4, up to 64, so that a limit
 * that is too high is seldom tried. At the maximum, each answer lowers the patience by 1/8, down to 1.
 */

const RECENT_CALLS = 16
const TIMEOUT_CUT = 0.7
const ENDPOINTS_PER_SIGN = 3
const PATIENCE_FACTOR = 4
const MAX_PATIENCE = 64
const PATIENCE_DECAY = 1 / 8

interface FailedCall {
  /** Monotonic milliseconds. */
  readonly start: number
  readonly now: number
  /** Calls in flight, with this one. */
  readonly inFlight: number
}

export class CallLimit {
  #max: number
  #value: number
  #patience = 1
  #lastCut = Number.NEGATIVE_INFINITY
  /** The latest calls, the latest one last. */
  readonly #recent: { readonly endpoint: string; readonly isAnswered: boolean }[] = []

  constructor(max: number) {
    this.#max = max
    this.#value = max
  }

  get value(): number {
    return Math.floor(this.#value)
  }

  /** A limit that was never lowered takes the new maximum at once; else it grows with answers. */
  setMax(max: number): void {
    this.#value = this.#value === this.#max ? max : Math.min(this.#value, max)
    this.#max = max
  }

  recordAnswer(endpoint: string): void {
    this.#note(endpoint, true)
    this.#value = Math.min(this.#max, this.#value + 1 / (this.#value * this.#patience))
    if (this.#value === this.#max) this.#patience = Math.max(1, this.#patience - PATIENCE_DECAY)
  }

  /** Records a call that the node refused (`tooMany`), or that timed out with `inFlight` calls. */
  recordOverload(endpoint: string, { start, now, inFlight }: FailedCall, sign: 'tooMany' | 'late'): void {
    this.#note(endpoint, false)
    if (inFlight === 1 || start <= this.#lastCut || !this.#isShared()) return
    this.#lastCut = now
    this.#patience = Math.min(MAX_PATIENCE, this.#patience * PATIENCE_FACTOR)
    const limit = sign === 'tooMany' ? this.value - 1 : Math.min(this.#value, inFlight) * TIMEOUT_CUT
    this.#value = Math.max(1, limit)
  }

  #note(endpoint: string, isAnswered: boolean): void {
    if (this.#recent.length === RECENT_CALLS) this.#recent.shift()
    this.#recent.push({ endpoint, isAnswered })
  }

  #isShared(): boolean {
    const latest = [...new Map(this.#recent.map(({ endpoint, isAnswered }) => [endpoint, isAnswered])).values()]
    return latest.filter((isAnswered) => !isAnswered).length * ENDPOINTS_PER_SIGN > latest.length
  }
}
