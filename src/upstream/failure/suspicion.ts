/**
 * The failure detector: one state machine for each suspicion of a subject for a reason. A subject without one is trusted.
 *
 * | state | calls | ends |
 * |---|---|---|
 * | suspected | fail at once | after the time of the reason |
 * | due | the next one is the probe | with that call |
 * | probing | fail at once | after `maxTime`; when the probe shows nothing: due; when it shows the same: suspected; else trusted |
 *
 * | reason | subject | evidence | time | probe | trusted again with |
 * |---|---|---|---|---|---|
 * | `failures` | node | `failures` failures in a row, or `refusals` refused connections in a row | T, at most `maxOutageTime` | any call | any response |
 * | `hanging` | node | `hangs` responses in a row that the process behind the API does not carry out calls | the same | with an account `statusProbe` within a second after the time, otherwise any call that this process carries out | a response of this process |
 * | `silent` | node | no response to calls and `silence.probes` probes (`silence.ts`) | `silence.pause + silence.probeTimeout` | `GET /`, each `silence.pause` | any response |
 * | `blocked` | node | it refuses the address of the edge | `age` within `block.minPause` and `block.maxPause` | `GET /` of one replica, in pauses of half of `age` within the same bounds; looked for each `block.interval` | a response to the probe |
 * | `databases`, `agent`, `others`, `endpoint` | reads of a node | reads about `hangs` subjects without a response (`stuck-reads.ts`) | T | a read of the group; about another subject before the time | any response to a read of the group |
 * | `cutOff` | node behind a node, or agent | one call that is passed on takes `hangTimeout` (`passed-on-calls.ts`) | T with `cutOff.baseTime`, `cutOff.maxTime` | a call for it, or its status | a response to the probe |
 *
 * T: `min(maxTime, baseTime × 2ⁿ)`, n: how often the suspicion was prolonged, less a random part of up to a quarter, which
 * keeps replicas from probing at the same moment. `age`: milliseconds since it has this reason. The numbers: `EJECTION` in `options.ts`.
 */
import type { EjectionSettings } from '../options.ts'

export type Reason =
  | 'failures'
  | 'hanging'
  | 'silent'
  | 'blocked'
  | 'databases'
  | 'agent'
  | 'others'
  | 'endpoint'
  | 'cutOff'

/** A call may be sent, as the probe of the suspicion if there is one. */
export interface Admission {
  readonly ok: true
  readonly probeOf?: Suspicion
}

/** `none`: the node sent no response in time. `notSent`: its limit of calls per minute did not permit the probe. */
export type ProbeOutcome = 'answered' | 'blocked' | 'none' | 'notSent'

/** Time between two checks whether a node that hangs may be probed. */
const HANG_INTERVAL_MS = 1_000

/** To be begun at once. A node has one suspicion, whose reason may change: what it shows last decides. */
export class Suspicion {
  readonly #settings: EjectionSettings
  readonly #clock: () => number
  #reason: Reason
  #since: number
  #count = 0
  #until: number
  #probeStart: number | undefined
  /** Of the next probe of the edge. */
  #timer: NodeJS.Timeout | undefined

  constructor(reason: Reason, settings: EjectionSettings, clock: () => number) {
    this.#reason = reason
    this.#settings = settings
    this.#clock = clock
    this.#since = clock()
    this.#until = this.#since
  }

  get reason(): Reason {
    return this.#reason
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

  /** Milliseconds between two attempts of all replicas at a node that blocks the address. */
  get attemptPause(): number {
    return this.#blockPause((this.#clock() - this.#since) / 2)
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

  /** Begins or prolongs the suspicion, for this reason from now on. */
  begin(reason = this.#reason): void {
    if (reason !== this.#reason) this.#since = this.#clock()
    this.#reason = reason
    this.#probeStart = undefined
    this.#until = this.#clock() + this.#nextTime()
  }

  #nextTime(): number {
    const { pause, probeTimeout } = this.#settings.silence
    if (this.#reason === 'silent') return pause + probeTimeout
    if (this.#reason === 'blocked') return this.#blockPause(this.#clock() - this.#since)
    const { baseTime, maxTime } = this.#times
    const isOfNode = this.#reason === 'failures' || this.#reason === 'hanging'
    const longest = isOfNode ? Math.min(maxTime, this.#settings.maxOutageTime) : maxTime
    const time = Math.min(longest, baseTime * 2 ** this.#count)
    this.#count += 1
    return time * (0.75 + Math.random() / 4)
  }

  #blockPause(ms: number): number {
    const { minPause, maxPause } = this.#settings.block
    return Math.min(maxPause, Math.max(minPause, ms))
  }

  get #times(): Pick<EjectionSettings, 'baseTime' | 'maxTime'> {
    return this.#reason === 'cutOff' ? this.#settings.cutOff : this.#settings
  }

  /** If the probe has shown nothing, for example because its client disconnected, the next call is the probe. */
  endProbe(): void {
    this.#probeStart = undefined
  }

  /**
   * Sends a probe in the interval of the reason until `stopProbes`, or until this is called for another reason. The outcome of
   * one that has become outdated meanwhile decides nothing: no probe would end that ejection.
   */
  startProbes(send: () => Promise<ProbeOutcome | undefined>, onOutcome: (outcome: ProbeOutcome) => void): void {
    this.stopProbes()
    const timer = setTimeout(async () => {
      const outcome = await send()
      if (this.#timer !== timer) return
      if (outcome !== undefined) onOutcome(outcome)
      if (this.#timer === timer) this.startProbes(send, onOutcome)
    }, this.#probeInterval).unref()
    this.#timer = timer
  }

  stopProbes(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  get #probeInterval(): number {
    const { silence, block } = this.#settings
    if (this.#reason === 'silent') return silence.pause
    return this.#reason === 'blocked' ? block.interval : HANG_INTERVAL_MS
  }
}
