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
 * | stuck | reads of a node | reads about `hangs` subjects without a response (`stuck-reads.ts`) | T | a read of the group; about another subject before the time | any response to a read of the group |
 * | cut off | node behind a node, or agent | one call that is passed on takes `hangTimeout` (`passed-on-calls.ts`) | T with `cutOff.baseTime`, `cutOff.maxTime` | a call for it, or its status | a response to the probe; or due for `cutOff.maxTime` without a probe |
 *
 * T: `min(maxTime, baseTime × 2ⁿ)`, n: how often the suspicion was prolonged, less a random part of up to a quarter, which
 * keeps replicas from probing at the same moment. `age`: milliseconds since it has this reason. The numbers: `EJECTION` in `options.ts`.
 */
import { BLOCKED, type CallFailure } from '../node-response.ts'
import type { EjectionSettings } from '../options.ts'

/** Why a node is ejected. */
export type Reason = 'failures' | 'hanging' | 'silent' | 'blocked'

interface ReasonRules {
  /** Milliseconds until the node is probed. `age`: since it has this reason. Absent: T. */
  readonly time?: (settings: EjectionSettings, age: number) => number
  /** Milliseconds between two probes of the edge itself, or checks whether one is due. Absent: it sends none. */
  readonly interval?: (settings: EjectionSettings) => number
  /** The failure of a node that only these probes put back. */
  readonly failure?: CallFailure
}

export const reasons: Readonly<Record<Reason, ReasonRules>> = {
  failures: {},
  hanging: { interval: () => 1_000 },
  silent: {
    time: ({ silence }) => silence.pause + silence.probeTimeout,
    interval: ({ silence }) => silence.pause,
    failure: { fault: 'timeout', reason: 'silent' },
  },
  blocked: { time: blockPause, interval: ({ block }) => block.interval, failure: BLOCKED },
}

/** Returns the milliseconds between two attempts at a node that blocks the address. */
export function blockPause({ block }: EjectionSettings, ms: number): number {
  return Math.min(block.maxPause, Math.max(block.minPause, ms))
}

/** A call may be sent, as the probe of the suspicion if there is one. */
export interface Admission {
  readonly ok: true
  readonly probeOf?: Suspicion
}

/** Milliseconds. `longest`: of T; absent: `maxTime`. */
interface SuspicionTimes {
  readonly baseTime: number
  readonly maxTime: number
  readonly longest?: number
}

export class Suspicion {
  readonly #times: SuspicionTimes
  readonly #clock: () => number
  #count = 0
  #until: number
  #probeStart: number | undefined

  /** To be begun at once. */
  constructor(times: SuspicionTimes, clock: () => number) {
    this.#times = times
    this.#clock = clock
    this.#until = clock()
  }

  /** Milliseconds until the next probe. */
  get remaining(): number {
    return Math.max(0, this.#until - this.#clock())
  }

  /** Whole seconds. */
  get retryAfter(): number {
    return Math.max(1, Math.ceil(this.remaining / 1000))
  }

  /** Whether the next call would be the probe. A probe may be a call without a timeout, on a node that hangs. */
  get isDue(): boolean {
    return !this.#isProbing && this.remaining === 0
  }

  /** Whether it was due for `maxTime` without a probe. Then the evidence is too old to hold calls back. */
  get hasExpired(): boolean {
    return this.isDue && this.#clock() - this.#until >= this.#times.maxTime
  }

  get #isProbing(): boolean {
    return this.#probeStart !== undefined && this.#clock() - this.#probeStart < this.#times.maxTime
  }

  /** When the latest probe was sent, if its end is awaited. */
  get probeStart(): number | undefined {
    return this.#probeStart
  }

  /**
   * Returns `undefined` if the call is the probe, otherwise the whole seconds until it may be sent. `isEarly`: it may be sent
   * before its time. The caller reports what the probe shows with `begin`, or drops the suspicion, and then calls `endProbe`
   * with the present `probeStart`.
   */
  admit(isEarly = false): number | undefined {
    if (this.#isProbing || (!isEarly && !this.isDue)) return this.retryAfter
    this.#probeStart = this.#clock()
    return undefined
  }

  /** Begins or prolongs the suspicion. `ms`: until the next probe; absent: T. */
  begin(ms = this.#nextTime()): void {
    this.#probeStart = undefined
    this.#until = this.#clock() + ms
  }

  #nextTime(): number {
    const { baseTime, maxTime, longest = maxTime } = this.#times
    const time = Math.min(maxTime, longest, baseTime * 2 ** this.#count)
    this.#count += 1
    return time * (0.75 + Math.random() / 4)
  }

  /**
   * If the probe has shown nothing, for example because its client disconnected, the next call is the probe. An earlier one
   * than the latest, which has taken more than `maxTime`, changes nothing.
   */
  endProbe(start: number | undefined): void {
    if (start === this.#probeStart) this.#probeStart = undefined
  }
}
