/** What the ends of calls show about one node, and when it is ejected for it (`ejection.ts`). */
import type { NodeCall } from '../../core/node-call.ts'
import { faultRules } from '../../core/node-faults.ts'
import type { LayoutRules } from '../../layouts/layout-rules.ts'
import type { CallEnd, UpstreamCall } from '../call.ts'
import { problemOf, provesExecution } from '../node-problems.ts'
import type { CallFailure, Rejection } from '../node-response.ts'
import { Ejection, type EjectionOptions } from './ejection.ts'
import { contactAfter, failingContact, type HealthSignal, isSlow, type NodeContact, signalOf } from './evidence.ts'
import { SilenceWatch } from './silence.ts'
import { StuckReads } from './stuck-reads.ts'
import type { Admission } from './suspicion.ts'

interface NodeHealthOptions extends EjectionOptions {
  /** The rules of its layout: whether responses show that its process hangs. */
  readonly rules: () => Pick<LayoutRules, 'showsProblems'>
}

const HANGS: CallFailure = { fault: 'timeout', reason: 'hanging' }
/** A client has left, and the node is slow. */
const SLOW: CallFailure = { fault: 'timeout', reason: 'timedOut' }

export class NodeHealth {
  readonly #options: NodeHealthOptions
  readonly ejection: Ejection
  /** Notes each call that is sent. */
  readonly silence: SilenceWatch
  readonly stuckReads: StuckReads
  /** Those since the last success: unreadable responses by endpoint, each other failure by itself. */
  readonly #failures = new Set<string | symbol>()
  /** Consecutive refused connections. */
  #refusals = 0
  /** Consecutive calls that the node did not carry out because its process hangs. */
  #hangs = 0
  #contact: NodeContact = {}

  constructor(options: NodeHealthOptions) {
    this.#options = options
    const { node, log, onEject } = options
    this.ejection = new Ejection({
      ...options,
      onEject: (rejection, begins) => {
        // No call may end soon that shows its failure.
        if (begins) this.#contact = failingContact(this.#contact, options.clock())
        this.#forgetFailures()
        onEject(rejection, begins)
      },
    })
    this.silence = new SilenceWatch({ ...options, onSilent: () => this.ejection.eject('silent') })
    this.stuckReads = new StuckReads({
      ...options,
      onStuck: (reads, isOf) => {
        this.ejection.noteFailure({ fault: 'timeout', reason: 'readsStuck', about: reads })
        log('warn', 'node does not answer some reads', { node, reads })
        this.silence.endReads(isOf)
      },
      onAnswer: (reads) => log('info', 'node answers all reads again', { node, reads }),
    })
  }

  get contact(): NodeContact {
    return this.#contact
  }

  /** Whether the node was found not to answer at all. */
  get isSilent(): boolean {
    return this.ejection.reason === 'silent'
  }

  /** Whether the node accepts calls and answers none, or none of some kind. */
  get hangs(): boolean {
    return this.isSilent || this.ejection.reason === 'hanging' || this.stuckReads.areAny
  }

  /** The caller reports the end of the call with `record`, and ends the probe then. */
  admit(call: NodeCall): Admission | Rejection {
    const admission = this.ejection.admit(call)
    return admission.ok && admission.probeOf === undefined ? this.stuckReads.admit(call) : admission
  }

  /** Returns why a call that was admitted before must not be sent now. */
  recheck(call: UpstreamCall): Rejection | undefined {
    return this.ejection.recheck(call) ?? this.stuckReads.recheck(call)
  }

  /** Records what the end of a call shows that took `elapsed` milliseconds on the node, and returns it. */
  record(call: UpstreamCall, end: CallEnd, elapsed: number): HealthSignal {
    const { rules, node, clock } = this.#options
    const showsHang = end.response !== undefined && rules().showsProblems && problemOf(end.response, node) === 'hanging'
    const ofResponse = showsHang ? 'hang' : 'success'
    const signal = end.failure === undefined ? ofResponse : signalOf(call, end.failure, elapsed)
    this.#contact = contactAfter(this.#contact, signal, end, clock())
    const failure = end.failure?.fault !== 'cancelled' ? end.failure : signal === 'failure' ? SLOW : undefined
    const shown = signal === 'hang' ? HANGS : failure
    // The reads that end because the node is silent show no more than that.
    const isKnown = shown?.fault === 'timeout' && this.isSilent
    if (shown !== undefined && !isKnown) this.ejection.noteFailure(shown)
    // The API process refuses credentials by itself.
    const isRefused = end.status === 401 || end.failure?.fault === 'refusedCredentials'
    if (signal === 'success') this.#noteSuccess(provesExecution(call) && !isRefused)
    else this.#noteSign(signal, call)
    const mayBeLate = end.failure !== undefined && faultRules[end.failure.fault].health === 'ifSlow'
    // A call may be sent shortly before the deadline of its request. A busy process may note its end later.
    const waited = Math.min(elapsed, call.timeout ?? elapsed)
    const isLate = mayBeLate && isSlow(call, elapsed) && waited >= this.#options.ejection.silence.maxWait
    this.stuckReads.record(call, { isAnswered: signal === 'success', isLate }, elapsed)
    return signal
  }

  /**
   * Ends the ejection, and forgets failures and stuck reads, because an operator has put the node back. Calls in flight are
   * watched further, and nodes behind this one stay cut off.
   */
  forget(): void {
    this.#hangs = 0
    this.#forgetFailures()
    this.ejection.forget()
    this.stuckReads.forget()
    this.#contact = {}
  }

  /** The node is no longer called. */
  retire(): void {
    this.silence.retire()
    this.ejection.retire()
  }

  #noteSign(signal: Exclude<HealthSignal, 'success'>, call: UpstreamCall): void {
    const { ejection } = this
    switch (signal) {
      case 'none':
        break
      case 'blocked':
        if (ejection.reason !== 'blocked') ejection.eject('blocked')
        break
      case 'hang':
        this.#hangs += 1
        if (ejection.isProbe(call) || (ejection.reason === undefined && this.#hangs >= this.#options.ejection.hangs))
          ejection.eject('hanging')
        break
      default:
        this.#countFailure(signal, ejection.isProbe(call), call.endpoint)
    }
  }

  /** Takes a successful call. `isExecuted`: by the process behind the API. */
  #noteSuccess(isExecuted: boolean): void {
    const { reason } = this.ejection
    if (this.#failures.size > 0) this.#forgetFailures()
    if (isExecuted) this.#hangs = 0
    // A response to a call of before a block does not end the block.
    if (reason === undefined || reason === 'blocked') return
    if (reason !== 'hanging' || isExecuted) this.ejection.recover()
  }

  /**
   * Unreadable responses of one endpoint count once: the fault may be limited to that endpoint, and the others are still
   * served. For the same reason an unreadable response decides nothing as a probe; the next call is the probe.
   */
  #countFailure(signal: 'failure' | 'refused' | 'unreadable', isProbe: boolean, endpoint: string): void {
    const { ejection } = this
    // If the node was found to be silent meanwhile, that is known.
    if (isProbe && signal !== 'unreadable' && !ejection.endsByOwnProbe) ejection.eject('failures')
    const failure = signal === 'unreadable' ? endpoint : Symbol(signal)
    // A call that was in flight before the ejection is no new evidence.
    if (ejection.reason !== undefined || this.#failures.has(failure)) return
    this.#failures.add(failure)
    this.#refusals = signal === 'refused' ? this.#refusals + 1 : 0
    const { failures, refusals } = this.#options.ejection
    if (this.#failures.size >= failures || this.#refusals >= refusals) ejection.eject('failures')
  }

  #forgetFailures(): void {
    this.#failures.clear()
    this.#refusals = 0
  }
}
