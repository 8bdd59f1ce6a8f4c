/**
 * The time in which calls for a node fail at once, after failures. It doubles with each further failure. Then one call is
 * sent as a probe (half-open), and its outcome ends or prolongs the ejection.
 */
import type { FailureSettings } from './options.ts'

type Times = Pick<FailureSettings, 'baseTime' | 'maxTime'>

/** To be begun at once, by `begin` or `setRemaining`. */
export class Ejection {
  readonly #times: Times
  readonly #clock: () => number
  #count = 0
  #until: number
  #probeStart: number | undefined

  constructor(times: Times, clock: () => number) {
    this.#times = times
    this.#clock = clock
    this.#until = clock()
  }

  /** Milliseconds until the next probe. */
  get remaining(): number {
    return Math.max(0, this.#until - this.#clock())
  }

  /** Whether the next call would be the probe. */
  get isAdmitting(): boolean {
    // A probe may be a call without a timeout on a node that hangs. It blocks further probes for `maxTime` only.
    const isProbing = this.#probeStart !== undefined && this.#clock() - this.#probeStart < this.#times.maxTime
    return !isProbing && this.remaining === 0
  }

  /**
   * Returns `undefined` if the call is the probe, otherwise the whole seconds until it may be sent. The caller reports the end
   * of a probe with `begin` or `abandonProbe`, or drops the ejection.
   */
  admit(): number | undefined {
    if (!this.isAdmitting) return this.retryAfter
    this.#probeStart = this.#clock()
    return undefined
  }

  /** Whole seconds. */
  get retryAfter(): number {
    return Math.max(1, Math.ceil(this.remaining / 1000))
  }

  /** Begins or prolongs the ejection. Jitter of up to a quarter keeps replicas from probing at the same moment. */
  begin(): void {
    const duration = Math.min(this.#times.maxTime, this.#times.baseTime * 2 ** this.#count)
    this.#count += 1
    this.setRemaining(duration * (0.75 + Math.random() / 4))
  }

  setRemaining(ms: number): void {
    this.#probeStart = undefined
    this.#until = this.#clock() + ms
  }

  /** The probe ended without evidence, for example because its client disconnected. The next call is the probe. */
  abandonProbe(): void {
    this.#probeStart = undefined
  }
}
