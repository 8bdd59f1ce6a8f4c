/** What the calls to one node show about its health: when it is ejected, what is logged, and why calls are rejected. */

import type { NodeCall, NodeResponse } from '../core/node-call.ts'
import { isAnswered, type NodeFault } from '../core/node-faults.ts'
import { Health, type HealthAdmission, type HealthSignal, healthSignalOf } from './health.ts'
import { type CallEnd, type Layer, mayWaitForOther, onEnd, type UpstreamCall } from './layer.ts'
import { type Reject, startQueueSpan } from './layers.ts'
import type { ConcurrencyLimiter, Rejection } from './limiter.ts'
import { BLOCKED, type CallFailure, isLogin, problemOf, provesExecution, STATUS_PROBE } from './node-response.ts'
import type { ClusterLog, EjectionSettings, NodeStatus } from './options.ts'
import { ProbeSchedule, type ProbeScheduleOptions } from './probe-schedule.ts'

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

const SILENT: CallFailure = { fault: 'timeout', detail: 'no response to calls and probes' }
const HANGS: CallFailure = { fault: 'timeout', detail: 'calls are not carried out within ten seconds (3021)' }

export class NodeHealth {
  readonly #options: NodeHealthOptions
  readonly #health: Health
  readonly #probes: ProbeSchedule
  #lastFailure: NodeStatus['lastFailure']
  #isRetired = false

  constructor(options: NodeHealthOptions) {
    const { ejection, clock } = options
    this.#options = options
    this.#health = new Health(ejection, clock)
    this.#probes = new ProbeSchedule({
      ...options,
      settings: ejection,
      onAnswer: () => this.#recover(),
      onSilent: (nextProbeIn) => this.#ejectUntilProbed('silent', SILENT, nextProbeIn),
      onBlocked: (nextAttemptIn) => this.#ejectUntilProbed('blocked', BLOCKED, nextAttemptIn),
    })
  }

  get isAdmitting(): boolean {
    return !this.#isRetired && this.#health.isAdmitting
  }

  get lastFailure(): NodeStatus['lastFailure'] {
    return this.#lastFailure
  }

  /** Milliseconds until the next probe; `undefined` if the node is not ejected. */
  get ejectedFor(): number | undefined {
    return this.#health.ejectedFor
  }

  /** Returns the layer that rejects calls while the node is ejected. */
  eject(reject: Reject): Layer {
    return (next) => async (call) => {
      const admission = this.#admit(call)
      if (!admission.ok) {
        startQueueSpan(call)('ejected')
        return reject(call, this.rejection(admission.retryAfter))
      }
      const { isProbe } = admission
      const result = await next({ ...call, isProbe })
      if (isProbe && !result.ok && !result.sent) this.#health.abandonProbe()
      return result
    }
  }

  /** Returns the layer that observes the calls which are sent. */
  observe(limiter: Pick<ConcurrencyLimiter, 'expectedTime'>): Layer {
    const { clock } = this.#options
    return (next) => async (call) => {
      const { deadline, retryable } = call
      const usualTime = limiter.expectedTime(call.endpoint)
      const start = clock()
      const end = deadline && this.#probes.begin({ isRead: retryable, deadline, usualTime })
      const result = await next(call)
      end?.(result.ok || isAnswered(result))
      onEnd(call, result, (ended) => this.#record(call, ended, clock() - start))
      return result
    }
  }

  #admit(call: Pick<NodeCall, 'endpoint'>): HealthAdmission {
    if (this.#isRetired) return { ok: false, retryAfter: 1 }
    const { onHang } = this.#options
    // The probe may need a new token.
    if (this.isHanging && isLogin(call)) return { ok: true, isProbe: false }
    // No client waits for the probe of the edge. A call of a client would take ten seconds.
    return this.#health.admit(onHang === undefined ? provesExecution(call) : call.endpoint === STATUS_PROBE.endpoint)
  }

  forget(): void {
    this.#health.recordSuccess()
    this.#health.end()
    this.#probes.stop()
    this.#lastFailure = undefined
  }

  /** The node is no longer called. */
  retire(): void {
    this.#isRetired = true
    this.#probes.retire()
  }

  /** Whether the node was found not to answer at all. */
  get isSilent(): boolean {
    return this.#health.cause === 'silent'
  }

  /** Whether the node is ejected because its process hangs. */
  get isHanging(): boolean {
    return this.#health.cause === 'hanging'
  }

  /** Returns what the end of a call shows that took `elapsed` milliseconds on the node. */
  signalOf(call: NodeCall, { failure, response }: CallEnd, elapsed: number): HealthSignal {
    if (response && this.#showsHang(response)) return 'hang'
    // A call that hangs because of another node shows nothing about this one.
    const isOfOther = mayWaitForOther(call) && (failure?.fault === 'timeout' || failure?.fault === 'cancelled')
    return isOfOther ? 'none' : healthSignalOf(failure, call.timeout, elapsed)
  }

  /** Whether the node answered that the process which carries out its calls hangs. */
  #showsHang(response: NodeResponse): boolean {
    return this.#options.showsProblems() && problemOf(response, this.#options.node) === 'hanging'
  }

  #record(call: UpstreamCall, end: CallEnd, elapsed: number): void {
    const signal = this.signalOf(call, end, elapsed)
    const shown = signal === 'hang' ? HANGS : end.failure
    // The reads that end because the node is silent show no more than that.
    const isKnown = shown?.fault === 'timeout' && this.isSilent
    if (shown !== undefined && shown.fault !== 'cancelled' && !isKnown) {
      this.#lastFailure = { fault: shown.fault, detail: shown.detail, at: Date.now() }
    }
    const begins = this.#health.ejectedFor === undefined
    // The API process refuses credentials by itself.
    const isExecuted = provesExecution(call) && end.status !== 401 && end.failure?.fault !== 'refusedCredentials'
    if (this.#apply(signal, call, isExecuted)) this.#reportEjection(begins)
  }

  /** Returns the rejection of calls while the node is ejected. `retryAfter` in seconds. */
  rejection(retryAfter: number): Rejection {
    if (this.#isRetired) return ejected('removed from cluster.nodes', retryAfter)
    const last = this.#lastFailure
    const detail = `ejected after failures${last ? `: ${last.detail}` : ''}`
    return ejected(detail, retryAfter, last?.fault)
  }

  /** Returns whether an ejection began or was prolonged. */
  #apply(signal: HealthSignal, { endpoint, isProbe = false }: UpstreamCall, isExecuted: boolean): boolean {
    const { log, node } = this.#options
    switch (signal) {
      case 'success':
        if (this.#health.recordSuccess(isExecuted)) {
          this.#probes.stop()
          log('info', 'node answers again', { node })
        } else if (isProbe) this.#health.abandonProbe()
        return false
      case 'none':
        if (isProbe) this.#health.abandonProbe()
        return false
      case 'blocked':
        this.#probes.awaitUnblocking()
        return false
      case 'hang':
        return this.#health.recordHang(isProbe)
      default:
        return this.#health.recordFailure(signal, isProbe, endpoint)
    }
  }

  #reportEjection(begins: boolean): void {
    const { node, log, onEject, onHang } = this.#options
    const ejectedFor = this.#health.ejectedFor ?? 0
    const seconds = Math.ceil(ejectedFor / 1000)
    log('warn', 'node ejected', { node, ...this.#lastFailure, seconds })
    onEject(this.rejection(seconds), begins)
    if (this.isHanging) onHang?.(ejectedFor)
  }

  #ejectUntilProbed(cause: 'silent' | 'blocked', { fault, detail }: CallFailure, nextProbeIn: number): void {
    const begins = this.#health.ejectedFor === undefined
    const isNews = this.#health.ejectUntilProbed(cause, nextProbeIn)
    if (!isNews) return
    this.#lastFailure = { fault, detail, at: Date.now() }
    this.#reportEjection(begins)
  }

  #recover(): void {
    const { node, log, onRecover } = this.#options
    if (!this.#health.end()) return
    log('info', 'node answers again', { node })
    onRecover()
  }
}

function ejected(detail: string, retryAfter: number, lastFault?: NodeFault): Rejection {
  return { ok: false, fault: 'ejected', detail, retryAfter: Math.max(1, retryAfter), ...(lastFault && { lastFault }) }
}
