/**
 * The time in which calls for a node fail at once, after failures. It doubles with each further ejection. Then one call is
 * sent as a probe (half-open), and its outcome ends or prolongs the ejection.
 */
import type { FailureSettings } from './options.ts'

type Admission =
  | { readonly ok: true; readonly isProbe: boolean }
  /** `retryAfter` in whole seconds. */
  | { readonly ok: false; readonly retryAfter: number }

export class Ejection {
  readonly #times: Pick<FailureSettings, 'baseTime' | 'maxTime'>
  readonly #clock: () => number
  #count = 0
  #until: number | undefined
  #probeStart: number | undefined

  constructor(times: Pick<FailureSettings, 'baseTime' | 'maxTime'>, clock: () => number) {
    this.#times = times
    this.#clock = clock
  }

  /** Milliseconds until the next probe; `undefined` without an ejection. */
  get remaining(): number | undefined {
    return this.#until === undefined ? undefined : Math.max(0, this.#until - this.#clock())
  }

  /** Whether `admit` would admit a call. */
  get isAdmitting(): boolean {
    // A probe may be a call without a timeout on a node that hangs. It blocks further probes for `maxTime` only.
    const isProbing = this.#probeStart !== undefined && this.#clock() - this.#probeStart < this.#times.maxTime
    return this.#until === undefined || (!isProbing && this.remaining === 0)
  }

  /**
   * The caller reports the end of a probe with `begin`, `end` or `abandonProbe`. `mayProbe`: whether the outcome of the call
   * would decide about the ejection.
   */
  admit(mayProbe = true): Admission {
    if (this.#until === undefined) return { ok: true, isProbe: false }
    if (!mayProbe || !this.isAdmitting)
      return { ok: false, retryAfter: Math.max(1, Math.ceil((this.remaining ?? 0) / 1000)) }
    this.#probeStart = this.#clock()
    return { ok: true, isProbe: true }
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

  /** Returns whether there was an ejection. */
  end(): boolean {
    const wasEjected = this.#until !== undefined
    this.#count = 0
    this.#until = undefined
    this.#probeStart = undefined
    return wasEjected
  }

  /** The probe ended without evidence, for example because its client disconnected. The next call is the probe. */
  abandonProbe(): void {
    this.#probeStart = undefined
  }
}
