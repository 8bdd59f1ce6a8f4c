/**
 * Finds out whether a node that owes responses still answers at all. While calls are in flight and no response comes for
 * longer than they usually take, the node is probed. If the probes get no response either, the node is silent: its process
 * hangs, or its packets are lost. A call that is late alone decides nothing, since another node may be the cause, to which
 * this one has passed the call on.
 */
import type { Deadline } from '../core/timing.ts'
import type { SilenceSettings } from './options.ts'
import type { ProbeOutcome } from './probes.ts'

export interface SilenceOptions {
  readonly settings: SilenceSettings
  readonly probe: () => Promise<ProbeOutcome>
  /** Called when the node is found to be silent. The reads in flight have ended. */
  readonly onSilent: () => void
  /** Monotonic milliseconds. */
  readonly clock: () => number
}

/** A call in flight. `usualTime`: milliseconds that such calls take; 0: not known. */
interface InFlightCall {
  /** Whether the caller may learn at once that no response will come. The outcome of a write is not known then. */
  readonly isRead: boolean
  readonly deadline: Deadline
  readonly usualTime: number
}

/** Twice the usual time of a call is late. */
const LATE_FACTOR = 2

export class SilenceWatch {
  readonly #options: SilenceOptions
  /** The calls in flight, with the time of their start. */
  readonly #inFlight = new Map<InFlightCall, number>()
  #lastResponse = Number.NEGATIVE_INFINITY
  #timer: NodeJS.Timeout | undefined
  #isProbing = false
  #isStopped = false

  constructor(options: SilenceOptions) {
    this.#options = options
  }

  /** To be called when a call is sent. Returns the function that is called at its end. */
  begin(call: InFlightCall): (hasResponse: boolean) => void {
    if (this.#isStopped) return () => undefined
    this.#inFlight.set(call, this.#options.clock())
    if (this.#timer === undefined && !this.#isProbing) this.#checkIn(this.#waitOf(call))
    return (hasResponse) => {
      this.#inFlight.delete(call)
      if (hasResponse) this.#lastResponse = this.#options.clock()
    }
  }

  /** Ends the watch for good. */
  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#inFlight.clear()
  }

  #checkIn(ms: number): void {
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#check()
    }, ms).unref()
  }

  #check(): void {
    const due = this.#dueIn()
    // Without a call in flight, the next one starts the timer again.
    if (due === undefined) return
    if (due > 0) this.#checkIn(due)
    else void this.#findOut()
  }

  /** Returns the milliseconds until the silence is suspicious; `undefined`: no call is in flight. */
  #dueIn(): number | undefined {
    if (this.#inFlight.size === 0) return undefined
    const now = this.#options.clock()
    const due = [...this.#inFlight].map(([call, start]) => Math.max(start, this.#lastResponse) + this.#waitOf(call))
    return Math.max(0, Math.min(...due) - now)
  }

  #waitOf({ usualTime }: InFlightCall): number {
    const { minWait, maxWait } = this.#options.settings
    return Math.min(maxWait, Math.max(minWait, LATE_FACTOR * usualTime))
  }

  async #findOut(): Promise<void> {
    this.#isProbing = true
    const isSilent = await this.#isSilent()
    this.#isProbing = false
    // Nothing would end the probes of a retired node.
    if (this.#isStopped) return
    if (!isSilent) this.#check()
    else {
      for (const { isRead, deadline } of this.#inFlight.keys()) if (isRead) deadline.expire()
      this.#options.onSilent()
    }
  }

  async #isSilent(): Promise<boolean> {
    const { settings, probe, clock } = this.#options
    const began = clock()
    for (let sent = 0; sent < settings.probes; sent += 1) {
      const outcome = await probe()
      if (outcome === 'none' && this.#lastResponse < began) continue
      // Without a response to the probe, the silence is measured again from now on.
      this.#lastResponse = clock()
      return false
    }
    // All calls have ended meanwhile, for example because their clients disconnected: the probes are evidence enough.
    return true
  }
}
