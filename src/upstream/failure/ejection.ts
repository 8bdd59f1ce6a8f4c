/**
 * Whether one node is ejected: it is trusted, ejected for a reason, or retired. What it shows last decides about the reason.
 * `health.ts` finds the reasons, `suspicion.ts` lists them with their times and probes. The edge itself probes nodes that no
 * call of a client puts back.
 */
import type { NodeCall } from '../../core/node-call.ts'
import { describeFailure } from '../../core/node-faults.ts'
import type { UpstreamCall } from '../call.ts'
import { isLogin, isStatusProbe, provesExecution } from '../node-problems.ts'
import type { CallFailure, Rejection } from '../node-response.ts'
import type { ClusterSettings, NodeStatus } from '../options.ts'
import type { ProbeOutcome } from '../probes.ts'
import { type Admission, blockPause, type Reason, reasons, Suspicion } from './suspicion.ts'

export interface EjectionOptions extends Pick<ClusterSettings, 'ejection' | 'log' | 'clock'> {
  readonly node: string
  /** Called when an ejection begins, gets another reason, or is prolonged for `failures` or `hanging`. */
  readonly onEject: (rejection: Rejection, begins: boolean) => void
  /** Called when a probe of the edge has ended an ejection. */
  readonly onRecover: () => void
  /** Sends the probe that shows whether the node answers at all. `credentials`: of a call in flight. */
  readonly probe: (credentials?: NodeCall['credentials']) => Promise<ProbeOutcome>
  /** Sends `statusProbe` to a node that hangs. Absent: the edge has no account. */
  readonly probeExecution?: () => Promise<unknown>
  /**
   * Reserves an attempt at a node that blocks the address. Resolves to `undefined` if a replica has made one within
   * `pause` milliseconds; otherwise to the function that ends the reservation, so that the other replicas try at once.
   */
  readonly reserveAttempt: (pause: number) => Promise<(() => Promise<void>) | undefined>
}

/** `since`: when the node was ejected for this reason. */
interface Ejected {
  readonly reason: Reason
  readonly since: number
  readonly suspicion: Suspicion
}

export class Ejection {
  readonly #options: EjectionOptions
  #state: 'trusted' | 'retired' | Ejected = 'trusted'
  /** Of the next probe of the edge. */
  #timer: NodeJS.Timeout | undefined
  #lastFailure: NodeStatus['lastFailure']

  constructor(options: EjectionOptions) {
    this.#options = options
  }

  get #ejected(): Ejected | undefined {
    return typeof this.#state === 'string' ? undefined : this.#state
  }

  get reason(): Reason | undefined {
    return typeof this.#state === 'string' ? undefined : this.#state.reason
  }

  get lastFailure(): NodeStatus['lastFailure'] {
    return this.#lastFailure
  }

  /** Milliseconds until the next probe; `undefined` if the node is not ejected. */
  get remaining(): number | undefined {
    return this.#ejected?.suspicion.remaining
  }

  /** Whether only a probe of the edge ends the present ejection. */
  get endsByOwnProbe(): boolean {
    return this.reason !== undefined && reasons[this.reason].failure !== undefined
  }

  /** Whether a call of a client would be sent now. */
  get isAdmitting(): boolean {
    if (typeof this.#state === 'string') return this.#state === 'trusted'
    const { reason, suspicion } = this.#state
    const isProbed = reason === 'hanging' && this.#options.probeExecution !== undefined
    return !isProbed && !this.endsByOwnProbe && suspicion.isDue
  }

  isProbe({ probeOf }: UpstreamCall): boolean {
    return probeOf !== undefined && probeOf === this.#ejected?.suspicion
  }

  /** The caller reports the end of the call, and ends the probe then. */
  admit(call: NodeCall): Admission | Rejection {
    if (this.#state === 'retired') return this.rejection(1)
    const suspicion = this.#state === 'trusted' ? undefined : this.#suspicionFor(call)
    if (suspicion === undefined) return { ok: true }
    // No client waits for the probe of the edge. A call of a client would take ten seconds.
    const showsHang = this.#options.probeExecution === undefined ? provesExecution(call) : isStatusProbe(call)
    const mayProbe = !this.endsByOwnProbe && (showsHang || this.reason !== 'hanging')
    const retryAfter = mayProbe ? suspicion.admit() : suspicion.retryAfter
    return retryAfter === undefined ? { ok: true, probeOf: suspicion } : this.rejection(retryAfter)
  }

  /** Returns why a call that was admitted before must not be sent now. */
  recheck(call: UpstreamCall): Rejection | undefined {
    if (this.#state === 'trusted' || call.probeOf !== undefined) return undefined
    const suspicion = this.#suspicionFor(call)
    return suspicion && this.rejection(suspicion.retryAfter)
  }

  /** The probe of a node that hangs may need a new token. */
  #suspicionFor(call: NodeCall): Suspicion | undefined {
    return this.reason === 'hanging' && isLogin(call) ? undefined : this.#ejected?.suspicion
  }

  /** Returns the rejection of calls while the node is ejected. `retryAfter` in seconds. */
  rejection(retryAfter: number): Rejection {
    const rejection = { ok: false, fault: 'ejected', retryAfter } as const
    if (this.#state === 'retired') return { ...rejection, reason: 'removed' }
    const last = this.#lastFailure
    if (last === undefined) return { ...rejection, reason: 'ejected' }
    return { ...rejection, reason: 'ejectedAfter', about: last.detail, lastFault: last.fault }
  }

  noteFailure(failure: CallFailure): void {
    this.#lastFailure = { fault: failure.fault, detail: describeFailure(failure), at: Date.now() }
  }

  /** Begins or prolongs an ejection. */
  eject(reason: Reason): void {
    if (this.#state === 'retired') return
    const { ejection, clock, node, log, onEject } = this.#options
    const before = this.#ejected
    const { suspicion = new Suspicion({ ...ejection, longest: ejection.maxOutageTime }, clock) } = before ?? {}
    const since = before?.reason === reason ? before.since : clock()
    const { time, failure } = reasons[reason]
    this.#state = { reason, since, suspicion }
    suspicion.begin(time?.(ejection, clock() - since))
    if (before?.reason !== reason) this.#scheduleProbe(this.#state)
    else if (failure !== undefined) return
    if (failure !== undefined) this.noteFailure(failure)
    const seconds = Math.ceil(suspicion.remaining / 1000)
    log('warn', 'node ejected', { node, ...this.#lastFailure, seconds })
    onEject(this.rejection(seconds), before === undefined)
  }

  /** Ends an ejection because the node has answered. Returns whether there was one. */
  recover(): boolean {
    if (typeof this.#state === 'string') return false
    const { node, log } = this.#options
    this.#end('trusted')
    log('info', 'node answers again', { node })
    return true
  }

  /** Forgets what was found, because an operator has put the node back. */
  forget(): void {
    if (this.#ejected !== undefined) this.#end('trusted')
    this.#lastFailure = undefined
  }

  /** The node is no longer called. */
  retire(): void {
    this.#end('retired')
  }

  #end(state: 'trusted' | 'retired'): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#state = state
  }

  /** The outcome of a probe that has become outdated meanwhile decides nothing: no probe would end that ejection. */
  #scheduleProbe({ reason }: Ejected): void {
    const { ejection, onRecover } = this.#options
    const interval = reasons[reason].interval?.(ejection)
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (interval === undefined) return
    const timer = setTimeout(async () => {
      const outcome = this.#ejected && (await this.#probe(this.#ejected))
      if (this.#timer !== timer) return
      if (outcome === 'answered') {
        this.recover()
        return onRecover()
      }
      if (outcome !== undefined) this.eject(outcome === 'blocked' ? 'blocked' : reason)
      if (this.#timer === timer && this.#ejected) this.#scheduleProbe(this.#ejected)
    }, interval).unref()
    this.#timer = timer
  }

  /**
   * A block lasts 300 s by default, but a node may have a shorter one: it is tried again by one replica for all, after pauses
   * that grow with the time that the block lasts.
   */
  async #probe({ reason, since, suspicion }: Ejected): Promise<ProbeOutcome | undefined> {
    const { probe, probeExecution, reserveAttempt, ejection, clock } = this.#options
    if (reason === 'silent') return probe()
    if (!suspicion.isDue) return undefined
    if (reason === 'hanging') return void (await probeExecution?.())
    const release = await reserveAttempt(blockPause(ejection, (clock() - since) / 2))
    const outcome = release && (await probe())
    if (outcome === 'answered') await release?.()
    return outcome
  }
}
