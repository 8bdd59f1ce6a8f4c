/**
 * Probes of a node that answers nothing, or that blocks the address of the edge: they find its silence, and end its
 * ejection.
 */
import type { Deadline } from '../core/timing.ts'
import type { BlockSettings, SilenceSettings } from './options.ts'
import type { ProbeOutcome } from './probes.ts'

interface SilenceOptions {
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

/**
 * Finds out whether a node that owes responses still answers at all. While calls are in flight and no response comes
 * for longer than they usually take, the node is probed. If the probes get no response either, the node is silent: its
 * process hangs, or its packets are lost. A call that is late alone decides nothing, since another node may be the
 * cause, to which this one has passed the call on.
 */
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

export interface RecoveryOptions {
  readonly silence: SilenceSettings
  readonly block: BlockSettings
  readonly probe: () => Promise<ProbeOutcome>
  /**
   * Reserves an attempt at a node that blocks the address. Resolves to `undefined` if a replica has made one within
   * `pause` milliseconds; otherwise to the function that ends the reservation, so that the other replicas try at once.
   */
  readonly reserveAttempt: (pause: number) => Promise<(() => Promise<void>) | undefined>
  /** Called when the node has answered. */
  readonly onAnswer: () => void
  /** Called when the node blocks the address, with the milliseconds until the next attempt may be made. */
  readonly onBlocked: (nextAttemptIn: number) => void
  /** Called when the node was silent again. */
  readonly onSilent: (nextProbeIn: number) => void
  /** Monotonic milliseconds. */
  readonly clock: () => number
}

/**
 * Probes that end the ejection of a node which is silent, or which blocks the address of the edge. A silent node is
 * probed continuously. A block lasts 300 s by default, but a node may have a shorter one: it is tried again by one
 * replica for all, after pauses that grow with the time that the block lasts.
 */
export class Recovery {
  readonly #options: RecoveryOptions
  #timer: NodeJS.Timeout | undefined
  #blockedSince: number | undefined
  #lastAttempt = Number.NEGATIVE_INFINITY

  constructor(options: RecoveryOptions) {
    this.#options = options
  }

  /** Probes a silent node until it answers. */
  awaitAnswer(): void {
    this.#blockedSince = undefined
    const { pause, probeTimeout } = this.#options.silence
    this.#options.onSilent(pause + probeTimeout)
    this.#repeat(pause, async (isCurrent) => {
      const outcome = await this.#options.probe()
      if (!isCurrent()) return
      if (outcome === 'answered') this.#end()
      else if (outcome === 'blocked') this.awaitUnblocking()
      else this.#options.onSilent(pause + probeTimeout)
    })
  }

  /** Tries a node that blocks the address of the edge until it answers. The block began now at the latest. */
  awaitUnblocking(): void {
    if (this.#blockedSince !== undefined) return
    const { block, clock } = this.#options
    this.#blockedSince = clock()
    this.#lastAttempt = clock()
    this.#options.onBlocked(block.minPause)
    this.#repeat(block.interval, (isCurrent) => this.#attempt(isCurrent))
  }

  /** Ends the probes, because the ejection has ended otherwise. */
  stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#blockedSince = undefined
  }

  async #attempt(isCurrent: () => boolean): Promise<void> {
    const { block, clock, reserveAttempt } = this.#options
    const elapsed = clock() - (this.#blockedSince ?? clock())
    const pause = Math.min(block.maxPause, Math.max(block.minPause, elapsed / 2))
    if (clock() < this.#lastAttempt + pause) return
    const release = await reserveAttempt(pause)
    if (release === undefined) return
    this.#lastAttempt = clock()
    const outcome = await this.#options.probe()
    if (outcome === 'answered') await release()
    if (!isCurrent()) return
    if (outcome === 'answered') this.#end()
    else
      this.#options.onBlocked(Math.min(block.maxPause, Math.max(block.minPause, clock() - (this.#blockedSince ?? 0))))
  }

  #end(): void {
    this.stop()
    this.#options.onAnswer()
  }

  /**
   * Runs the work at intervals until `stop`, each time after the last one has ended. Work that was stopped meanwhile must
   * not eject the node again: no probe would end that ejection.
   */
  #repeat(interval: number, work: (isCurrent: () => boolean) => Promise<void>): void {
    clearTimeout(this.#timer)
    const isCurrent = (): boolean => this.#timer === timer
    const timer = setTimeout(async () => {
      await work(isCurrent)
      if (isCurrent()) this.#repeat(interval, work)
    }, interval).unref()
    this.#timer = timer
  }
}
