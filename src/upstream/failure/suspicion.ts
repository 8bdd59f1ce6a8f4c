/** What a node, or a node behind another one, is suspected of, and until when. */
import type { FailureSettings } from '../options.ts'

/** A call may be sent, as the probe of the suspicion if there is one. */
export interface Admission {
  readonly ok: true
  readonly probeOf?: Suspicion
}

/**
 * One suspicion, of one node for one reason. The node is trusted while there is none.
 *
 * | state | calls | ends |
 * |---|---|---|
 * | suspected | fail at once | after `min(maxTime, baseTime × 2ⁿ)`, n: how many times it was prolonged before, less up to a quarter |
 * | due | the next one is the probe | with that call |
 * | probing | fail at once | after `maxTime`; when the probe shows nothing: due; when it shows the same: suspected; else trusted |
 *
 * To be begun at once.
 */
export class Suspicion {
  readonly #times: Pick<FailureSettings, 'baseTime' | 'maxTime'>
  readonly #clock: () => number
  #count = 0
  #until: number
  #probeStart: number | undefined

  constructor(times: Pick<FailureSettings, 'baseTime' | 'maxTime'>, clock: () => number) {
    this.#times = times
    this.#clock = clock
    this.#until = clock()
  }

  /** Milliseconds until the next probe. */
  get remaining(): number {
    return Math.max(0, this.#until - this.#clock())
  }

  /** Whether the next call would be the probe. A probe may be a call without a timeout, on a node that hangs. */
  get isDue(): boolean {
    return !this.#isProbing && this.remaining === 0
  }

  get #isProbing(): boolean {
    return this.#probeStart !== undefined && this.#clock() - this.#probeStart < this.#times.maxTime
  }

  /**
   * Returns `undefined` if the call is the probe, otherwise the whole seconds until it may be sent. `isEarly`: it may be sent
   * before its time. The caller reports what the probe shows with `begin`, or drops the suspicion, and then calls `endProbe`.
   */
  admit(isEarly = false): number | undefined {
    if (this.#isProbing || (!isEarly && !this.isDue)) return this.retryAfter
    this.#probeStart = this.#clock()
    return undefined
  }

  /** Whole seconds. */
  get retryAfter(): number {
    return Math.max(1, Math.ceil(this.remaining / 1000))
  }

  /** Begins or prolongs the suspicion, for the time of the table or for this one. */
  begin(ms = this.#nextTime()): void {
    this.#probeStart = undefined
    this.#until = this.#clock() + ms
  }

  /** The random part keeps replicas from probing at the same moment. */
  #nextTime(): number {
    const { baseTime, maxTime } = this.#times
    const time = Math.min(maxTime, baseTime * 2 ** this.#count)
    this.#count += 1
    return time * (0.75 + Math.random() / 4)
  }

  /** If the probe has shown nothing, for example because its client disconnected, the next call is the probe. */
  endProbe(): void {
    this.#probeStart = undefined
  }
}
