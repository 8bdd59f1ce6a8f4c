/**
 * The health of one node, as its calls show it: when it is ejected, what is logged, and why calls are rejected. A node that is
 * silent, or blocks the address of the edge, is ejected until a probe of the edge is answered: a client would wait for
 * nothing.
 */

import type { NodeCall } from '../core/node-call.ts'
import { faultRules } from '../core/node-faults.ts'
import { type CallEnd, mayWaitForOther, type UpstreamCall } from './call.ts'
import { Ejection, ProbeSchedule, type ProbeScheduleOptions } from './ejection.ts'
import {
  BLOCKED,
  type CallFailure,
  isLogin,
  problemOf,
  provesExecution,
  type Rejection,
  STATUS_PROBE,
} from './node-response.ts'
import type { ClusterLog, EjectionSettings, NodeStatus } from './options.ts'

export interface NodeHealthOptions extends Pick<ProbeScheduleOptions, 'probe' | 'reserveAttempt' | 'clock'> {
  readonly node: string
  readonly ejection: EjectionSettings
  readonly log: ClusterLog
  /** Called when an ejection begins or is prolonged. */
  readonly onEject: (rejection: Rejection, begins: boolean) => void
  /**
   * Called when the node is ejected because it hangs, with the milliseconds until it may be probed with `STATUS_PROBE`.
   * Absent: a call of a client is the probe, because the edge has no account.
   */
  readonly onHang?: (probeIn: number) => void
  /** Called when a probe of the edge has ended an ejection. */
  readonly onRecover: () => void
  /** Whether responses of the node show that its process hangs. */
  readonly showsProblems: () => boolean
}

/**
 * What the end of a call shows about the health of its node. `refused`: the connection was refused. `unreadable`: a sign
 * of bad health only if several endpoints show it. `hang`: the node answered that it cannot carry out calls. `blocked`: the
 * node refuses all calls of this address. `none`: the call is no evidence about the node.
 */
export type HealthSignal = 'success' | 'failure' | 'refused' | 'unreadable' | 'hang' | 'blocked' | 'none'

/** Why a node is ejected. `hanging`: the process behind its API does not carry out calls. `silent`: nothing is answered. */
type EjectionCause = 'failures' | 'hanging' | 'silent' | 'blocked'

/** What the latest call to a node showed, without calls that are no evidence about the node. */
export interface NodeContact {
  readonly calledAt?: number
  readonly credentials?: 'accepted' | 'refused' | undefined
  /** When the first of the latest failures ended; absent after a response. */
  readonly failingSince?: number
}

/** The node answers so before it checks the credentials. */
const TOO_MANY_REQUESTS = 429
const SILENT: CallFailure = { fault: 'timeout', detail: 'no response to calls and probes' }
const HANGS: CallFailure = { fault: 'timeout', detail: 'calls are not carried out within ten seconds (3021)' }

export class NodeHealth {
  readonly #options: NodeHealthOptions
  /** Notes each call that is sent. */
  readonly probes: ProbeSchedule
  /** The present ejection; its time doubles with each call that fails as a probe. */
  #ejection: Ejection | undefined
  #cause: EjectionCause | undefined
  /** Consecutive ones, and those of them that were refused connections. */
  #failures = 0
  #refusals = 0
  /** Endpoints with an unreadable response since the last success. */
  readonly #unreadableEndpoints = new Set<string>()
  /** Consecutive calls that the node did not carry out because its process hangs. */
  #hangs = 0
  #lastFailure: NodeStatus['lastFailure']
  #isRetired = false
  #contact: NodeContact = {}

  constructor(options: NodeHealthOptions) {
    this.#options = options
    this.probes = new ProbeSchedule({
      ...options,
      settings: options.ejection,
      onAnswer: () => this.#recover(),
      onSilent: (nextProbeIn) => this.#ejectUntilProbed('silent', SILENT, nextProbeIn),
      onBlocked: (nextAttemptIn) => this.#ejectUntilProbed('blocked', BLOCKED, nextAttemptIn),
    })
  }

  get isAdmitting(): boolean {
    if (this.#isRetired || this.#ejection === undefined) return !this.#isRetired
    return !this.#endsByOwnProbe && this.#ejection.isAdmitting
  }

  get contact(): NodeContact {
    return this.#contact
  }

  get lastFailure(): NodeStatus['lastFailure'] {
    return this.#lastFailure
  }

  /** Milliseconds until the next probe; `undefined` if the node is not ejected. */
  get ejectedFor(): number | undefined {
    return this.#ejection?.remaining
  }

  /** Whether the node was found not to answer at all. */
  get isSilent(): boolean {
    return this.#cause === 'silent'
  }

  /** Whether the node is ejected because its process hangs. */
  get isHanging(): boolean {
    return this.#cause === 'hanging' && !this.#isRetired
  }

  /** Whether only a probe of the edge ends the present ejection. */
  get #endsByOwnProbe(): boolean {
    return this.#cause === 'silent' || this.#cause === 'blocked'
  }

  /** The caller reports the end of a probe with `record`, or with `abandonProbe` if it was not sent. */
  admit(call: Pick<NodeCall, 'endpoint' | 'passedOnTo'>): { readonly ok: true; readonly isProbe: boolean } | Rejection {
    if (this.#isRetired) return this.rejection(1)
    // The probe may need a new token.
    if (this.#ejection === undefined || (this.isHanging && isLogin(call))) return { ok: true, isProbe: false }
    // No client waits for the probe of the edge. A call of a client would take ten seconds.
    const showsHang =
      this.#options.onHang === undefined ? provesExecution(call) : call.endpoint === STATUS_PROBE.endpoint
    const mayProbe = !this.#endsByOwnProbe && (showsHang || !this.isHanging)
    const retryAfter = mayProbe ? this.#ejection.admit() : this.#ejection.retryAfter
    return retryAfter === undefined ? { ok: true, isProbe: true } : this.rejection(retryAfter)
  }

  abandonProbe(): void {
    this.#ejection?.abandonProbe()
  }

  /** Returns the rejection of calls while the node is ejected. `retryAfter` in seconds. */
  rejection(retryAfter: number): Rejection {
    const rejection = { ok: false, fault: 'ejected', retryAfter: Math.max(1, retryAfter) } as const
    if (this.#isRetired) return { ...rejection, detail: 'removed from cluster.nodes' }
    const last = this.#lastFailure
    if (last === undefined) return { ...rejection, detail: 'ejected after failures' }
    return { ...rejection, detail: `ejected after failures: ${last.detail}`, lastFault: last.fault }
  }

  /** Records what the end of a call shows that took `elapsed` milliseconds on the node, and returns it. */
  record(call: UpstreamCall, end: CallEnd, elapsed: number): HealthSignal {
    const signal = this.#signalOf(call, end, elapsed)
    this.#noteContact(signal, end)
    const shown = signal === 'hang' ? HANGS : end.failure
    // The reads that end because the node is silent show no more than that.
    const isKnown = shown?.fault === 'timeout' && this.isSilent
    if (shown !== undefined && shown.fault !== 'cancelled' && !isKnown) this.#noteFailure(shown)
    const begins = this.ejectedFor === undefined
    if (this.#apply(signal, call, end)) this.#reportEjection(begins)
    return signal
  }

  /** Forgets everything about the node, because an operator has put it back. */
  forget(): void {
    this.#hangs = 0
    this.#end()
    this.probes.stop()
    this.#lastFailure = undefined
    this.#contact = {}
  }

  /** The node is no longer called. */
  retire(): void {
    this.#isRetired = true
    this.probes.retire()
  }

  #noteContact(signal: HealthSignal, { failure, status }: CallEnd): void {
    if (status === undefined && signal !== 'success') {
      // Not if the client disconnected.
      if (signal !== 'none' && failure?.fault !== 'cancelled') this.#noteFailing()
      return
    }
    const { credentials } = this.#contact
    const isRead = status !== undefined && status < 500 && status !== TOO_MANY_REQUESTS
    const shown = failure?.fault === 'refusedCredentials' ? 'refused' : isRead ? 'accepted' : credentials
    this.#contact = { calledAt: this.#options.clock(), credentials: shown }
  }

  #noteFailing(): void {
    const calledAt = this.#options.clock()
    this.#contact = { ...this.#contact, calledAt, failingSince: this.#contact.failingSince ?? calledAt }
  }

  #signalOf(call: NodeCall, { failure, response }: CallEnd, elapsed: number): HealthSignal {
    const { showsProblems, node } = this.#options
    if (response !== undefined && showsProblems() && problemOf(response, node) === 'hanging') return 'hang'
    if (failure === undefined) return 'success'
    // A call that hangs because of another node shows nothing about this one.
    if (mayWaitForOther(call) && (failure.fault === 'timeout' || failure.fault === 'cancelled')) return 'none'
    if (failure.refused) return 'refused'
    const { health } = faultRules[failure.fault]
    if (health !== 'ifSlow') return health
    return elapsed >= (call.timeout ?? Number.POSITIVE_INFINITY) / 2 ? 'failure' : 'none'
  }

  /** Returns whether an ejection began or, by a probe, was prolonged. */
  #apply(signal: HealthSignal, call: UpstreamCall, end: CallEnd): boolean {
    const { isProbe = false, endpoint } = call
    switch (signal) {
      case 'success': {
        // The API process refuses credentials by itself.
        const isRefused = end.status === 401 || end.failure?.fault === 'refusedCredentials'
        if (!this.#endByCall(provesExecution(call) && !isRefused) && isProbe) this.abandonProbe()
        return false
      }
      case 'none':
        if (isProbe) this.abandonProbe()
        return false
      case 'blocked':
        this.probes.awaitUnblocking()
        return false
      case 'hang':
        this.#hangs += 1
        if (!isProbe && (this.ejectedFor !== undefined || this.#hangs < this.#options.ejection.hangs)) return false
        return this.#eject('hanging')
      default:
        return this.#countFailure(signal, isProbe, endpoint)
    }
  }

  /** Takes a successful call. `isExecuted`: by the process behind the API. Returns whether it ended an ejection. */
  #endByCall(isExecuted: boolean): boolean {
    if (isExecuted) this.#hangs = 0
    // A response to a call of before a block does not end the block.
    if (this.#cause === 'blocked' || (this.isHanging && !isExecuted) || !this.#end()) return false
    const { log, node } = this.#options
    this.probes.stop()
    log('info', 'node answers again', { node })
    return true
  }

  /**
   * Unreadable responses of one endpoint count once: the fault may be limited to that endpoint, and the others are still
   * served. For the same reason an unreadable response decides nothing as a probe; the next call is the probe.
   */
  #countFailure(signal: 'failure' | 'refused' | 'unreadable', isProbe: boolean, endpoint: string): boolean {
    if (signal === 'unreadable' && isProbe) this.abandonProbe()
    // If the node was found to be silent meanwhile, that is known.
    else if (isProbe && !this.#endsByOwnProbe) return this.#eject('failures')
    // The call was in flight before the ejection and is no new evidence.
    if (this.ejectedFor !== undefined) return false
    if (signal === 'unreadable' && this.#unreadableEndpoints.has(endpoint)) return false
    if (signal === 'unreadable') this.#unreadableEndpoints.add(endpoint)
    this.#failures += 1
    this.#refusals = signal === 'refused' ? this.#refusals + 1 : 0
    const { failures, refusals } = this.#options.ejection
    return (this.#failures >= failures || this.#refusals >= refusals) && this.#eject('failures')
  }

  #eject(cause: 'failures' | 'hanging'): true {
    this.#beginEjection(cause).begin()
    return true
  }

  #ejectUntilProbed(cause: 'silent' | 'blocked', failure: CallFailure, nextProbeIn: number): void {
    const begins = this.ejectedFor === undefined
    const isNews = this.#cause !== cause
    this.#beginEjection(cause).setRemaining(nextProbeIn)
    if (!isNews) return
    this.#noteFailure(failure)
    this.#reportEjection(begins)
  }

  /** Begins an ejection, or returns the present one. */
  #beginEjection(cause: EjectionCause): Ejection {
    const { ejection, clock } = this.#options
    this.#cause = cause
    this.#ejection ??= new Ejection(ejection, clock)
    return this.#ejection
  }

  #noteFailure({ fault, detail }: CallFailure): void {
    this.#lastFailure = { fault, detail, at: Date.now() }
  }

  #reportEjection(begins: boolean): void {
    const { node, log, onEject, onHang } = this.#options
    const ejectedFor = this.ejectedFor ?? 0
    const seconds = Math.ceil(ejectedFor / 1000)
    log('warn', 'node ejected', { node, ...this.#lastFailure, seconds })
    // No call may end soon that shows its failure.
    if (begins) this.#noteFailing()
    onEject(this.rejection(seconds), begins)
    if (this.isHanging) onHang?.(ejectedFor)
  }

  /** A probe of the edge was answered. */
  #recover(): void {
    const { node, log, onRecover } = this.#options
    if (!this.#end()) return
    log('info', 'node answers again', { node })
    onRecover()
  }

  /** Ends any ejection, and forgets the failures. Returns whether the node was ejected. */
  #end(): boolean {
    this.#failures = 0
    this.#refusals = 0
    this.#unreadableEndpoints.clear()
    const wasEjected = this.#ejection !== undefined
    this.#ejection = undefined
    this.#cause = undefined
    return wasEjected
  }
}
