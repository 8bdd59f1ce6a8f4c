/**
 * What calls show about one node: when it is ejected, and what operators see of it. `suspicion.ts` has the reasons, their times
 * and probes.
 */

import type { NodeCall } from '../../core/node-call.ts'
import { describeFailure, faultRules } from '../../core/node-faults.ts'
import { type CallEnd, mayWaitForOther, type UpstreamCall } from '../call.ts'
import { isLogin, isStatusProbe, problemOf, provesExecution } from '../node-problems.ts'
import { BLOCKED, type CallFailure, type Rejection } from '../node-response.ts'
import type { ClusterSettings, NodeStatus } from '../options.ts'
import { SilenceWatch } from './silence.ts'
import { StuckReads } from './stuck-reads.ts'
import { type Admission, type ProbeOutcome, type Reason, Suspicion } from './suspicion.ts'

interface NodeHealthOptions extends Pick<ClusterSettings, 'ejection' | 'log' | 'clock'> {
  readonly node: string
  /** Called when an ejection begins or is prolonged. */
  readonly onEject: (rejection: Rejection, begins: boolean) => void
  /** Called when a probe of the edge has ended an ejection. */
  readonly onRecover: () => void
  /** Whether responses of the node show that its process hangs. */
  readonly showsProblems: () => boolean
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

/**
 * What the end of a call shows about the health of its node. `refused`: the connection was refused. `unreadable`: a sign
 * of bad health only if several endpoints show it. `hang`: the node answered that it cannot carry out calls. `blocked`: the
 * node refuses all calls of this address. `none`: the call is no evidence about the node.
 */
export type HealthSignal = 'success' | 'failure' | 'refused' | 'unreadable' | 'hang' | 'blocked' | 'none'

/** What the latest call to a node showed, without calls that are no evidence about the node. */
export interface NodeContact {
  readonly calledAt?: number
  readonly credentials?: 'accepted' | 'refused' | undefined
  /** When the first of the latest failures ended; absent after a response. */
  readonly failingSince?: number
}

/** The node answers so before it checks the credentials. */
const TOO_MANY_REQUESTS = 429
/** The failures of nodes that only a probe of the edge puts back. */
const FOUND_BY_PROBES: Readonly<Partial<Record<Reason, CallFailure>>> = {
  silent: { fault: 'timeout', reason: 'silent' },
  blocked: BLOCKED,
}
const HANGS: CallFailure = { fault: 'timeout', reason: 'hanging' }

export class NodeHealth {
  readonly #options: NodeHealthOptions
  /** Notes each call that is sent. */
  readonly silence: SilenceWatch
  readonly stuckReads: StuckReads
  /** The node is ejected. */
  #suspicion: Suspicion | undefined
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
    const { node, log } = options
    this.silence = new SilenceWatch({ ...options, onSilent: () => this.#suspect('silent') })
    this.stuckReads = new StuckReads({
      ...options,
      onStuck: (reads, isOf) => {
        this.#noteFailure({ fault: 'timeout', reason: 'readsStuck', about: reads })
        log('warn', 'node does not answer some reads', { node, reads })
        this.silence.endReads(isOf)
      },
      onAnswer: (reads) => log('info', 'node answers all reads again', { node, reads }),
    })
  }

  get isAdmitting(): boolean {
    if (this.#isRetired || this.#suspicion === undefined) return !this.#isRetired
    const isProbed = this.#endsByOwnProbe || (this.isHanging && this.#options.probeExecution !== undefined)
    return !isProbed && this.#suspicion.isDue
  }

  get contact(): NodeContact {
    return this.#contact
  }

  get lastFailure(): NodeStatus['lastFailure'] {
    return this.#lastFailure
  }

  /** Milliseconds until the next probe; `undefined` if the node is not ejected. */
  get ejectedFor(): number | undefined {
    return this.#suspicion?.remaining
  }

  get #reason(): Reason | undefined {
    return this.#suspicion?.reason
  }

  /** Whether the node was found not to answer at all. */
  get isSilent(): boolean {
    return this.#reason === 'silent'
  }

  /** Whether the node is ejected because its process hangs. */
  get isHanging(): boolean {
    return this.#reason === 'hanging'
  }

  /** Whether the node accepts calls and answers none, or none of some kind. */
  get hangs(): boolean {
    return this.isSilent || this.isHanging || this.stuckReads.areAny
  }

  /** Whether only a probe of the edge ends the present ejection. */
  get #endsByOwnProbe(): boolean {
    return this.#reason !== undefined && this.#reason in FOUND_BY_PROBES
  }

  /** The caller reports the end of the call with `record`, and ends the probe then. */
  admit(call: NodeCall): Admission | Rejection {
    if (this.#isRetired) return this.rejection(1)
    // The probe may need a new token.
    if (this.#suspicion === undefined || (this.isHanging && isLogin(call))) return this.stuckReads.admit(call)
    // No client waits for the probe of the edge. A call of a client would take ten seconds.
    const showsHang = this.#options.probeExecution === undefined ? provesExecution(call) : isStatusProbe(call)
    const mayProbe = !this.#endsByOwnProbe && (showsHang || !this.isHanging)
    const retryAfter = mayProbe ? this.#suspicion.admit() : this.#suspicion.retryAfter
    return retryAfter === undefined ? { ok: true, probeOf: this.#suspicion } : this.rejection(retryAfter)
  }

  /** Returns why a call that was admitted before must not be sent now. */
  recheck(call: UpstreamCall): Rejection | undefined {
    if (this.#suspicion !== undefined && call.probeOf === undefined && !isLogin(call))
      return this.rejection(this.#suspicion.retryAfter)
    return this.stuckReads.recheck(call)
  }

  /** Returns the rejection of calls while the node is ejected. `retryAfter` in seconds. */
  rejection(retryAfter: number): Rejection {
    const rejection = { ok: false, fault: 'ejected', retryAfter } as const
    if (this.#isRetired) return { ...rejection, reason: 'removed' }
    const last = this.#lastFailure
    if (last === undefined) return { ...rejection, reason: 'ejected' }
    return { ...rejection, reason: 'ejectedAfter', about: last.detail, lastFault: last.fault }
  }

  /** Records what the end of a call shows that took `elapsed` milliseconds on the node, and returns it. */
  record(call: UpstreamCall, end: CallEnd, elapsed: number): HealthSignal {
    const signal = this.#signalOf(call, end, elapsed)
    this.#noteContact(signal, end)
    const shown = signal === 'hang' ? HANGS : end.failure
    // The reads that end because the node is silent show no more than that.
    const isKnown = shown?.fault === 'timeout' && this.isSilent
    if (shown !== undefined && shown.fault !== 'cancelled' && !isKnown) this.#noteFailure(shown)
    this.#apply(signal, call, end)
    const mayBeLate = end.failure !== undefined && faultRules[end.failure.fault].health === 'ifSlow'
    // A call may be sent shortly before the deadline of its request.
    const isLate = mayBeLate && isSlow(call, elapsed) && elapsed >= this.#options.ejection.silence.maxWait
    this.stuckReads.record(call, { isAnswered: signal === 'success', isLate }, elapsed)
    return signal
  }

  /** Forgets everything about the node, because an operator has put it back. */
  forget(): void {
    this.#hangs = 0
    this.#end()
    this.stuckReads.forget()
    this.#lastFailure = undefined
    this.#contact = {}
  }

  /** The node is no longer called. */
  retire(): void {
    this.#isRetired = true
    this.silence.retire()
    this.#suspicion?.stopProbes()
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
    return isSlow(call, elapsed) ? 'failure' : 'none'
  }

  #apply(signal: HealthSignal, call: UpstreamCall, end: CallEnd): void {
    const { probeOf, endpoint } = call
    const isProbe = probeOf !== undefined && probeOf === this.#suspicion
    switch (signal) {
      case 'success': {
        // The API process refuses credentials by itself.
        const isRefused = end.status === 401 || end.failure?.fault === 'refusedCredentials'
        this.#endByCall(provesExecution(call) && !isRefused)
        break
      }
      case 'none':
        break
      case 'blocked':
        if (this.#reason !== 'blocked') this.#suspect('blocked')
        break
      case 'hang':
        this.#hangs += 1
        if (isProbe || (this.#suspicion === undefined && this.#hangs >= this.#options.ejection.hangs))
          this.#suspect('hanging')
        break
      default:
        this.#countFailure(signal, isProbe, endpoint)
    }
  }

  /** Takes a successful call. `isExecuted`: by the process behind the API. */
  #endByCall(isExecuted: boolean): void {
    if (isExecuted) this.#hangs = 0
    // A response to a call of before a block does not end the block.
    if (this.#reason !== 'blocked' && (!this.isHanging || isExecuted)) this.#recover()
  }

  /**
   * Unreadable responses of one endpoint count once: the fault may be limited to that endpoint, and the others are still
   * served. For the same reason an unreadable response decides nothing as a probe; the next call is the probe.
   */
  #countFailure(signal: 'failure' | 'refused' | 'unreadable', isProbe: boolean, endpoint: string): void {
    // If the node was found to be silent meanwhile, that is known.
    if (isProbe && signal !== 'unreadable' && !this.#endsByOwnProbe) this.#suspect('failures')
    // A call that was in flight before the ejection is no new evidence.
    if (this.#suspicion !== undefined) return
    if (signal === 'unreadable' && this.#unreadableEndpoints.has(endpoint)) return
    if (signal === 'unreadable') this.#unreadableEndpoints.add(endpoint)
    this.#failures += 1
    this.#refusals = signal === 'refused' ? this.#refusals + 1 : 0
    const { failures, refusals } = this.#options.ejection
    if (this.#failures >= failures || this.#refusals >= refusals) this.#suspect('failures')
  }

  /** Begins or prolongs an ejection. */
  #suspect(reason: Reason): void {
    const { ejection, clock, node, log, onEject } = this.#options
    const begins = this.#suspicion === undefined
    const isNews = this.#reason !== reason
    const found = FOUND_BY_PROBES[reason]
    const suspicion = this.#suspicion ?? new Suspicion(reason, ejection, clock)
    this.#suspicion = suspicion
    suspicion.begin(reason)
    if (isNews) this.#startProbes(suspicion)
    if (found !== undefined && !isNews) return
    if (found !== undefined) this.#noteFailure(found)
    const seconds = Math.ceil(suspicion.remaining / 1000)
    log('warn', 'node ejected', { node, ...this.#lastFailure, seconds })
    // No call may end soon that shows its failure.
    if (begins) this.#noteFailing()
    onEject(this.rejection(seconds), begins)
  }

  /** The edge itself probes a node that no call of a client puts back. */
  #startProbes(suspicion: Suspicion): void {
    const { probe, probeExecution, onRecover } = this.#options
    const probes: Partial<Record<Reason, () => Promise<ProbeOutcome | undefined>>> = {
      silent: () => probe(),
      blocked: () => this.#attempt(suspicion),
      hanging: async () => void (suspicion.isDue && (await probeExecution?.())),
    }
    const send = probes[suspicion.reason]
    suspicion.stopProbes()
    if (send === undefined || this.#isRetired) return
    suspicion.startProbes(send, (outcome) => {
      if (outcome !== 'answered') this.#suspect(outcome === 'blocked' ? 'blocked' : suspicion.reason)
      else if (this.#recover()) onRecover()
    })
  }

  /**
   * A block lasts 300 s by default, but a node may have a shorter one: it is tried again by one replica for all, after pauses
   * that grow with the time that the block lasts.
   */
  async #attempt(suspicion: Suspicion): Promise<ProbeOutcome | undefined> {
    const { reserveAttempt, probe } = this.#options
    const release = suspicion.isDue ? await reserveAttempt(suspicion.attemptPause) : undefined
    if (release === undefined) return undefined
    const outcome = await probe()
    if (outcome === 'answered') await release()
    return outcome
  }

  #noteFailure(failure: CallFailure): void {
    this.#lastFailure = { fault: failure.fault, detail: describeFailure(failure), at: Date.now() }
  }

  /** Ends an ejection because the node has answered. Returns whether there was one. */
  #recover(): boolean {
    const { node, log } = this.#options
    const wasEjected = this.#suspicion !== undefined
    this.#end()
    if (wasEjected) log('info', 'node answers again', { node })
    return wasEjected
  }

  /** Ends any ejection, and forgets the failures. */
  #end(): void {
    this.#failures = 0
    this.#refusals = 0
    this.#unreadableEndpoints.clear()
    this.#suspicion?.stopProbes()
    this.#suspicion = undefined
  }
}

/** Whether a call spent half of its timeout on the node, and not in the queue of the edge. */
function isSlow({ timeout = Number.POSITIVE_INFINITY }: NodeCall, elapsed: number): boolean {
  return elapsed >= timeout / 2
}
