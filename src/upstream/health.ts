/**
 * The health of one node, as its calls show it. After consecutive failures the node is ejected for a time that doubles with
 * each ejection. Then one call of a client is sent as a probe (half-open), and its outcome ends or prolongs the ejection. A
 * node that is silent, or blocks the address of the edge, is ejected until a probe of the edge is answered: a client would
 * wait for nothing.
 */
import { faultRules } from '../core/node-faults.ts'
import type { CallFailure } from './node-response.ts'
import type { FailureSettings } from './options.ts'

/**
 * What the end of a call shows about the health of its node. `refused`: the connection was refused. `unreadable`: a sign
 * of bad health only if several endpoints show it. `hang`: the node answered that it cannot carry out calls. `blocked`: the
 * node refuses all calls of this address. `none`: the call is no evidence about the node.
 */
export type HealthSignal = 'success' | 'failure' | 'refused' | 'unreadable' | 'hang' | 'blocked' | 'none'

/** Returns the signal of a call that took `elapsed` milliseconds on the node. */
export function healthSignalOf(
  failure: CallFailure | undefined,
  timeout: number | undefined,
  elapsed: number,
): HealthSignal {
  if (failure === undefined) return 'success'
  if (failure.refused) return 'refused'
  const { health } = faultRules[failure.fault]
  if (health !== 'ifSlow') return health
  return elapsed >= (timeout ?? Number.POSITIVE_INFINITY) / 2 ? 'failure' : 'none'
}

export type HealthAdmission =
  | { readonly ok: true; readonly isProbe: boolean }
  /** `retryAfter` in whole seconds. */
  | { readonly ok: false; readonly retryAfter: number }

/** Why a node is ejected. `hanging`: the process behind its API does not carry out calls. `silent`: nothing is answered. */
type EjectionCause = 'failures' | 'hanging' | 'silent' | 'blocked'

/** These ejections end by a probe of the edge only. */
const ENDED_BY_OWN_PROBE: ReadonlySet<EjectionCause | undefined> = new Set(['silent', 'blocked'] as const)

export class Health {
  readonly #settings: FailureSettings
  readonly #clock: () => number
  #consecutiveFailures = 0
  #consecutiveRefusals = 0
  /** Endpoints with an unreadable response since the last success. */
  readonly #unreadableEndpoints = new Set<string>()
  /** Consecutive calls that the node did not carry out because its process hangs. */
  #hangs = 0
  #ejections = 0
  /** Of the present ejection. */
  #cause: EjectionCause | undefined
  #ejectedUntil: number | undefined
  #probeStart: number | undefined

  constructor(settings: FailureSettings, clock: () => number) {
    this.#settings = settings
    this.#clock = clock
  }

  /** Milliseconds until the next probe; `undefined` if the node is not ejected. */
  get ejectedFor(): number | undefined {
    return this.#ejectedUntil === undefined ? undefined : Math.max(0, this.#ejectedUntil - this.#clock())
  }

  /** `undefined`: the node is not ejected. */
  get cause(): EjectionCause | undefined {
    return this.#cause
  }

  /** Whether `admit` would admit a call. */
  get isAdmitting(): boolean {
    if (this.#ejectedUntil === undefined) return true
    if (ENDED_BY_OWN_PROBE.has(this.#cause)) return false
    // A probe may be a call without a timeout on a node that hangs. It blocks further probes for `maxTime` only.
    const isProbing = this.#probeStart !== undefined && this.#clock() - this.#probeStart < this.#settings.maxTime
    return !isProbing && this.ejectedFor === 0
  }

  /**
   * The caller reports the end of a probe with `recordSuccess`, `recordFailure`, `recordHang` or `abandonProbe`.
   * `showsHang`: whether the call would fail as well if the process of the node still hangs.
   */
  admit(showsHang = true): HealthAdmission {
    if (this.#ejectedUntil === undefined) return { ok: true, isProbe: false }
    if (!this.isAdmitting || (this.#cause === 'hanging' && !showsHang))
      return { ok: false, retryAfter: Math.max(1, Math.ceil((this.ejectedFor ?? 0) / 1000)) }
    this.#probeStart = this.#clock()
    return { ok: true, isProbe: true }
  }

  /** Returns whether this ended an ejection. A response to a call of before a block does not end the block. */
  recordSuccess(showsHang = true): boolean {
    if (showsHang) this.#hangs = 0
    else if (this.#cause === 'hanging') return false
    return this.#cause === 'blocked' ? false : this.end()
  }

  /** Ends any ejection, and forgets the failures. Returns whether the node was ejected. */
  end(): boolean {
    const wasEjected = this.#ejectedUntil !== undefined
    this.#consecutiveFailures = 0
    this.#consecutiveRefusals = 0
    this.#unreadableEndpoints.clear()
    this.#ejections = 0
    this.#cause = undefined
    this.#ejectedUntil = undefined
    this.#probeStart = undefined
    return wasEjected
  }

  /** Returns whether this began or, for a probe, prolonged an ejection. */
  recordHang(isProbe: boolean): boolean {
    this.#hangs += 1
    if (!isProbe && (this.#ejectedUntil !== undefined || this.#hangs < this.#settings.hangs)) return false
    return this.#eject('hanging')
  }

  /**
   * Ejects the node until a probe of the edge is answered. `nextProbeIn`: milliseconds. Returns whether it was not ejected
   * for this cause before.
   */
  ejectUntilProbed(cause: 'silent' | 'blocked', nextProbeIn: number): boolean {
    const isNews = this.#cause !== cause
    this.#cause = cause
    this.#probeStart = undefined
    this.#ejectedUntil = this.#clock() + nextProbeIn
    return isNews
  }

  /**
   * Returns whether this began or, for a probe, prolonged an ejection. Unreadable responses of one endpoint count once:
   * the fault may be limited to that endpoint, and the others are still served. For the same reason an unreadable
   * response decides nothing as a probe; the next call is the probe.
   */
  recordFailure(signal: 'failure' | 'refused' | 'unreadable', isProbe: boolean, endpoint: string): boolean {
    if (signal === 'unreadable' && isProbe) this.abandonProbe()
    // If the node was found to be silent meanwhile, that is known.
    else if (isProbe && !ENDED_BY_OWN_PROBE.has(this.#cause)) return this.#eject('failures')
    // The call was in flight before the ejection and is no new evidence.
    if (this.#ejectedUntil !== undefined) return false
    if (signal === 'unreadable' && this.#unreadableEndpoints.has(endpoint)) return false
    if (signal === 'unreadable') this.#unreadableEndpoints.add(endpoint)
    this.#consecutiveFailures += 1
    this.#consecutiveRefusals = signal === 'refused' ? this.#consecutiveRefusals + 1 : 0
    const { failures, refusals } = this.#settings
    return (this.#consecutiveFailures >= failures || this.#consecutiveRefusals >= refusals) && this.#eject('failures')
  }

  /** The probe ended without evidence, for example because its client disconnected. The next call is the probe. */
  abandonProbe(): void {
    this.#probeStart = undefined
  }

  /** Jitter of up to a quarter keeps replicas from probing at the same moment. */
  #eject(cause: 'failures' | 'hanging'): true {
    const { baseTime, maxTime } = this.#settings
    const duration = Math.min(maxTime, baseTime * 2 ** this.#ejections)
    this.#ejections += 1
    this.#cause = cause
    this.#probeStart = undefined
    this.#ejectedUntil = this.#clock() + duration * (0.75 + Math.random() / 4)
    return true
  }
}
