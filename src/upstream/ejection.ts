/**
 * The ejection of a node after failures, and when the edge probes a node by itself: while the node owes responses and
 * answers nothing, to find its silence, and while it is silent or blocks the address of the edge, to end its ejection.
 */
import type { NodeCall } from '../core/node-call.ts'
import type { Deadline } from '../core/timing.ts'
import { LATE_FACTOR } from './agent-reads.ts'
import type { EjectionSettings, FailureSettings } from './options.ts'
import type { ProbeOutcome } from './probes.ts'

type Times = Pick<FailureSettings, 'baseTime' | 'maxTime'>

/**
 * The time in which calls for a node fail at once. It doubles with each further failure. Then one call is sent as a probe
 * (half-open), and its outcome ends or prolongs the ejection. To be begun at once, by `begin` or `setRemaining`.
 */
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

export interface ProbeScheduleOptions {
  readonly settings: Pick<EjectionSettings, 'silence' | 'block'>
  /** `credentials`: of a call in flight. */
  readonly probe: (credentials?: NodeCall['credentials']) => Promise<ProbeOutcome>
  /**
   * Reserves an attempt at a node that blocks the address. Resolves to `undefined` if a replica has made one within
   * `pause` milliseconds; otherwise to the function that ends the reservation, so that the other replicas try at once.
   */
  readonly reserveAttempt: (pause: number) => Promise<(() => Promise<void>) | undefined>
  /** Called when a node that was silent or blocked the address has answered. */
  readonly onAnswer: () => void
  /** Called when the node blocks the address, with the milliseconds until the next attempt may be made. */
  readonly onBlocked: (nextAttemptIn: number) => void
  /** Called when the node is found to be silent, and after each probe of a silent one. The reads in flight have ended. */
  readonly onSilent: (nextProbeIn: number) => void
  /** Monotonic milliseconds. */
  readonly clock: () => number
}

/** A call in flight. `usualTime`: milliseconds that such calls take; 0: not known. */
interface InFlightCall {
  /** Whether the caller may learn at once that no response will come. The outcome of a write is not known then. */
  readonly isRead: boolean
  readonly deadline: Deadline
  readonly usualTime: number
  readonly credentials?: NodeCall['credentials']
}

/**
 * While calls are in flight and no response comes for longer than they usually take, the node is probed. If the probes get
 * no response either, the node is silent: its process hangs, or its packets are lost. A call that is late alone decides
 * nothing, since another node may be the cause, to which this one has passed the call on.
 *
 * A silent node is then probed continuously. A block lasts 300 s by default, but a node may have a shorter one: it is tried
 * again by one replica for all, after pauses that grow with the time that the block lasts.
 */
export class ProbeSchedule {
  readonly #options: ProbeScheduleOptions
  /** The calls in flight, with the time of their start. */
  readonly #inFlight = new Map<InFlightCall, number>()
  #lastResponse = Number.NEGATIVE_INFINITY
  /** Of the next look at the calls in flight. */
  #watchTimer: NodeJS.Timeout | undefined
  #isProbing = false
  #isRetired = false
  /** Of the next probe that may end the ejection. */
  #recoveryTimer: NodeJS.Timeout | undefined
  #blockedSince: number | undefined
  #lastAttempt = Number.NEGATIVE_INFINITY

  constructor(options: ProbeScheduleOptions) {
    this.#options = options
  }

  get lastResponse(): number {
    return this.#lastResponse
  }

  /** To be called when a call is sent. Returns the function that is called at its end. */
  begin(call: InFlightCall): (hasResponse: boolean) => void {
    if (this.#isRetired) return () => undefined
    this.#inFlight.set(call, this.#options.clock())
    if (this.#watchTimer === undefined && !this.#isProbing) this.#checkIn(this.#waitOf(call))
    return (hasResponse) => {
      this.#inFlight.delete(call)
      if (hasResponse) this.#lastResponse = this.#options.clock()
    }
  }

  /** Ends all probes for good. */
  retire(): void {
    this.#isRetired = true
    clearTimeout(this.#watchTimer)
    this.#watchTimer = undefined
    this.#inFlight.clear()
    this.stop()
  }

  #checkIn(ms: number): void {
    this.#watchTimer = setTimeout(() => {
      this.#watchTimer = undefined
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
    const { minWait, maxWait } = this.#options.settings.silence
    return Math.min(maxWait, Math.max(minWait, LATE_FACTOR * usualTime))
  }

  async #findOut(): Promise<void> {
    this.#isProbing = true
    const isSilent = await this.#isSilent()
    this.#isProbing = false
    // Nothing would end the probes of a retired node.
    if (this.#isRetired) return
    if (!isSilent) this.#check()
    else {
      for (const { isRead, deadline } of this.#inFlight.keys()) if (isRead) deadline.expire()
      this.#awaitAnswer()
    }
  }

  async #isSilent(): Promise<boolean> {
    const { settings, probe, clock } = this.#options
    const began = clock()
    for (let sent = 0; sent < settings.silence.probes; sent += 1) {
      const outcome = await probe([...this.#inFlight.keys()].find((call) => call.credentials)?.credentials)
      if (outcome === 'none' && this.#lastResponse < began) continue
      // Without a response to the probe, the silence is measured again from now on.
      this.#lastResponse = clock()
      return false
    }
    // All calls have ended meanwhile, for example because their clients disconnected: the probes are evidence enough.
    return true
  }

  /** Probes a silent node until it answers. */
  #awaitAnswer(): void {
    this.#blockedSince = undefined
    const { pause, probeTimeout } = this.#options.settings.silence
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
    const {
      settings: { block },
      clock,
    } = this.#options
    this.#blockedSince = clock()
    this.#lastAttempt = clock()
    this.#options.onBlocked(block.minPause)
    this.#repeat(block.interval, (isCurrent) => this.#attempt(isCurrent))
  }

  /** Ends the probes that would end the ejection, because it has ended otherwise. */
  stop(): void {
    clearTimeout(this.#recoveryTimer)
    this.#recoveryTimer = undefined
    this.#blockedSince = undefined
  }

  async #attempt(isCurrent: () => boolean): Promise<void> {
    const {
      settings: { block },
      clock,
      reserveAttempt,
    } = this.#options
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
    clearTimeout(this.#recoveryTimer)
    const isCurrent = (): boolean => this.#recoveryTimer === timer
    const timer = setTimeout(async () => {
      await work(isCurrent)
      if (isCurrent()) this.#repeat(interval, work)
    }, interval).unref()
    this.#recoveryTimer = timer
  }
}
