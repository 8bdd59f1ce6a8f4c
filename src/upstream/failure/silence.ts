/** Notices that a node which owes responses answers nothing. */
import { removeFrom } from '../../core/in-flight-list.ts'
import type { NodeCall } from '../../core/node-call.ts'
import type { ClusterSettings } from '../options.ts'
import type { ProbeOutcome } from '../probes.ts'

/** Twice the usual time of a call is late. */
const LATE_FACTOR = 2

interface SilenceOptions extends Pick<ClusterSettings, 'ejection' | 'clock'> {
  /** `credentials`: of a call in flight. */
  readonly probe: (credentials: NodeCall['credentials']) => Promise<ProbeOutcome>
  /** Called when the node is found to be silent. The reads in flight have ended. */
  readonly onSilent: () => void
}

/** A call in flight. `usualTime`: milliseconds that such calls take; 0: not known. */
interface InFlightCall {
  readonly call: NodeCall
  /** Ends the call, because no response will come. */
  readonly giveUp: () => void
  readonly usualTime: number
}

/**
 * While calls are in flight and no response comes for longer than they usually take, the node is probed. If the probes get
 * no response either, the node is silent: its process hangs, or its packets are lost. A call that is late alone decides
 * nothing, since another node may be the cause, to which this one has passed the call on.
 */
export class SilenceWatch {
  readonly #options: SilenceOptions
  readonly #inFlight: ({ readonly start: number } & InFlightCall)[] = []
  #lastResponse = Number.NEGATIVE_INFINITY
  /** When the last probes ended that did not show silence. */
  #probedAt = Number.NEGATIVE_INFINITY
  #timer: NodeJS.Timeout | undefined
  #isProbing = false
  #isRetired = false

  constructor(options: SilenceOptions) {
    this.#options = options
  }

  /** When the node last answered a call or a probe. */
  get lastResponse(): number {
    return this.#lastResponse
  }

  /** To be called when a call is sent. Returns the function that is called at its end. */
  begin(call: InFlightCall): (hasResponse: boolean) => void {
    if (this.#isRetired) return () => undefined
    const started = { start: this.#options.clock(), ...call }
    this.#inFlight.push(started)
    if (this.#timer === undefined && !this.#isProbing) this.#watch()
    return (hasResponse) => {
      removeFrom(this.#inFlight, started)
      if (hasResponse) this.#lastResponse = this.#options.clock()
    }
  }

  /** Ends reads in flight, because no response will come. The outcome of a write would not be known then. */
  endReads(isOf: (call: NodeCall) => boolean = () => true): void {
    // A copy: a call that ends is removed from the list.
    for (const { call, giveUp } of [...this.#inFlight]) if (call.retryable && isOf(call)) giveUp()
  }

  retire(): void {
    this.#isRetired = true
    clearTimeout(this.#timer)
    this.#inFlight.length = 0
  }

  /** Probes the node when its silence is suspicious. Without a call in flight, the next one starts the timer again. */
  #watch(): void {
    this.#timer = undefined
    if (this.#inFlight.length === 0) return
    const since = Math.max(this.#lastResponse, this.#probedAt)
    const due = this.#inFlight.map((call) => Math.max(call.start, since) + this.#waitOf(call))
    const wait = Math.min(...due) - this.#options.clock()
    if (wait > 0) this.#timer = setTimeout(() => this.#watch(), wait).unref()
    else void this.#findOut()
  }

  #waitOf({ usualTime }: InFlightCall): number {
    const { minWait, maxWait } = this.#options.ejection.silence
    return Math.min(maxWait, Math.max(minWait, LATE_FACTOR * usualTime))
  }

  async #findOut(): Promise<void> {
    const { ejection, probe, clock, onSilent } = this.#options
    const began = clock()
    this.#isProbing = true
    let isSilent = true
    for (let sent = 0; isSilent && sent < ejection.silence.probes; sent += 1) {
      const outcome = await probe(this.#inFlight.find(({ call }) => call.credentials)?.call.credentials)
      if (outcome === 'answered' || outcome === 'blocked') this.#lastResponse = clock()
      isSilent = outcome === 'none' && this.#lastResponse < began
    }
    this.#isProbing = false
    if (this.#isRetired) return
    if (!isSilent) {
      // A probe that was not sent shows nothing: the silence is measured again from now on.
      this.#probedAt = clock()
      return this.#watch()
    }
    // All calls may have ended meanwhile, because their clients disconnected: the probes are evidence enough.
    this.endReads()
    onSilent()
  }
}
