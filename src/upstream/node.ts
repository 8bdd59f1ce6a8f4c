/** One node with an address: the state that its calls share, and the order of what happens to a call. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { NodeCallEvent } from '../core/events.ts'
import type { ClusterView, Layout, NodeCall, NodeFailure, NodeResult } from '../core/node-call.ts'
import { isAnswered } from '../core/node-faults.ts'
import { type Deadline, startDeadline } from '../core/timing.ts'
import { Attempts, mayWaitForOther, notSent, onEnd, routeOf, type Send, type UpstreamCall } from './call.ts'
import { CallBudget } from './call-budget.ts'
import { layoutRules } from './dialects/dialect.ts'
import { DRAINED, type DrainedNodes } from './drains.ts'
import { NodeHealth } from './health.ts'
import type { LayoutState } from './layouts.ts'
import { ConcurrencyLimiter } from './limiter.ts'
import { detailOf, type Rejection } from './node-response.ts'
import type { ClusterSettings, NodeSetting, NodeStatus } from './options.ts'
import type { PassedOnCalls } from './passed-on-calls.ts'
import { probeAlive, probeHanging, type Recognition, recogniseLayout } from './probes.ts'
import { reserveAttemptAt } from './tokens/failed-logins.ts'
import type { AccountOf } from './tokens/login.ts'
import { type Issue, TokenCalls, type Verification } from './tokens/token-calls.ts'
import type { Transport, TransportChanges } from './transport.ts'

export interface UpstreamNodeOptions extends ClusterSettings {
  readonly setting: NodeSetting
  readonly transport: Transport
  readonly drained: DrainedNodes
  /** The state of the node with the same name that this one replaces, if there is one. */
  readonly layoutState: LayoutState
  readonly confirmLayout?: ClusterView['confirmLayout']
  readonly passedOn: PassedOnCalls
  /** Returns the account of a call, by the credentials in use now. */
  readonly accountOf: AccountOf
  /** Called when an ejection has ended because the node answered a probe of the edge. */
  readonly onRecover: (node: string) => void
}

const NO_TOKENS = { fault: 'unreachable', detail: 'a node of the classic layout issues no tokens' } as const

/** Retry-After of a call to a node of unknown layout, in seconds. Each second the node is asked again. */
const UNKNOWN_LAYOUT_RETRY_AFTER = 1

/** Time in which queued calls of a retired node may still start. */
const RETIREMENT_GRACE_MS = 800

export class UpstreamNode {
  readonly name: string
  readonly url: string
  readonly layout: LayoutState
  /** The version that the node has shown, until this time of the clock. */
  shownVersion?: { readonly version: string; readonly until: number }
  readonly limiter: ConcurrencyLimiter
  readonly health: NodeHealth
  readonly #options: UpstreamNodeOptions
  #budget: CallBudget | undefined
  readonly #attempts: Attempts
  /** The tokens of a node end with it: a token is valid at its node only. */
  #tokenCalls: TokenCalls | undefined

  constructor(options: UpstreamNodeOptions) {
    const { setting, slots, limits, transport, clock, counters } = options
    const { name } = setting
    this.name = name
    this.url = setting.url
    this.layout = options.layoutState
    this.#options = options
    const showsProblems = () => this.#rulesOr('newer').showsProblems
    const limiter = new ConcurrencyLimiter(name, slots, { limits, clock, budget: this.#budgetInUse })
    const attempts = new Attempts({ budget: this.#budgetInUse, limits, showsProblems, transport, clock })
    this.limiter = limiter
    this.#attempts = attempts
    this.health = new NodeHealth({
      ...options,
      node: name,
      showsProblems,
      onEject: (rejection, begins) => {
        limiter.rejectQueued(rejection)
        if (begins) options.onEject?.(name)
      },
      // Without an account of the edge, the probe is a call of a client.
      ...(options.credentials.mode === 'service' && {
        onHang: (probeIn) => probeHanging(this.call, name, () => this.health.isHanging, probeIn),
      }),
      onRecover: () => options.onRecover(name),
      reserveAttempt: (pause) => reserveAttemptAt(name, pause, counters),
      probe: () => probeAlive(attempts.sendOnce, name, options.ejection.silence.probeTimeout),
    })
  }

  /** Sends a call of a client. */
  readonly call: Send = (call) =>
    call.passedOnTo === undefined ? this.#sendInLayout(call) : this.#options.passedOn.send(call, this.#sendInLayout)

  /** Rejects a call to a node of unknown layout. In the newer layout a call has a token. */
  readonly #sendInLayout: Send = async (call) => {
    const unknown = this.#failureOfUnknownLayout(call)
    if (unknown !== undefined) return unknown
    const result = await (this.#tokens?.call(call) ?? this.#send(call))
    if (this.#options.confirmLayout !== undefined) this.#observeLayout(result, this.#options.confirmLayout)
    return result
  }

  /** Sends a call of a client, or a login, once it has a slot. Emits its event. */
  readonly #send: Send = async (call) => {
    const { drained, clock } = this.#options
    if (drained.has(this.name)) return this.#reject(call, DRAINED)
    const span = call.trace?.recorded ? call.trace.startSpan('queue', { node: call.node }) : undefined
    const admission = this.health.admit(call)
    if (!admission.ok) {
      span?.end({ fault: admission.fault })
      return this.#reject(call, admission)
    }
    const { isProbe } = admission
    const arrival = clock()
    const deadline = startDeadline(call.timeout, call.signal, clock)
    const slot = await this.limiter.acquire(call, deadline)
    const queueTime = clock() - arrival
    span?.end(slot.ok ? {} : { fault: slot.fault })
    if (slot.ok) return this.#sendWithSlot({ ...call, isProbe }, deadline, queueTime)
    deadline.end()
    if (isProbe) this.health.abandonProbe()
    return this.#reject(call, slot, queueTime)
  }

  /** Ends a call that hangs because of another node (`hangsAfter`) before its deadline. */
  async #sendWithSlot(call: UpstreamCall, deadline: Deadline, queueTime: number): Promise<NodeResult> {
    const { health, limiter } = this
    const { clock } = this.#options
    const { hangsAfter = Number.POSITIVE_INFINITY, isProbe } = call
    const hang = hangsAfter < deadline.remaining() ? startDeadline(hangsAfter, call.signal, clock) : undefined
    const sent = { ...call, deadline: hang ?? deadline }
    const start = clock()
    const usualTime = limiter.expectedTime(call.endpoint)
    const endWatch = health.probes.begin({ isRead: call.retryable, deadline: sent.deadline, usualTime })
    const result = await this.#attempts.sendRetryable(sent)
    endWatch(result.ok || isAnswered(result))
    onEnd(call, result, (end) => {
      hang?.end()
      deadline.end()
      const { failure, status } = end
      const ms = clock() - start
      const signal = health.record(call, end, ms)
      const outcome = status === undefined ? failure && { fault: failure.fault } : { status }
      this.#emit(call, { queueTime, ms, ...outcome })
      limiter.release(call, start, signal)
    })
    if (result.ok) return result
    if (isProbe && !result.sent) health.abandonProbe()
    const isHung = hang !== undefined && result.fault === 'timeout' && !health.isSilent
    return { ...result, ...(isHung && { hung: true }), detail: detailOf(result, this.layout.value) }
  }

  /** Checks the credentials of a call, which is a read that every account may send. */
  async verify(call: NodeCall): Promise<Verification> {
    const layout = this.layout.value
    const unknown = this.#failureOfUnknownLayout(call)
    if (unknown !== undefined) return unknown
    const result = await this.#verifyInLayout(call)
    if (result.ok || layout === undefined || result.layout === undefined) return result
    // A node that was upgraded meanwhile is asked again in its new layout.
    const isOther = await this.#options.confirmLayout?.(this.name, layout, result.layout)
    return isOther ? this.#verifyInLayout(call) : result
  }

  /** Without tokens, a node checks the credentials of each call. */
  async #verifyInLayout(call: NodeCall): Promise<Verification> {
    const tokens = this.#tokens
    if (tokens !== undefined) return tokens.verify(call)
    const result = await this.#send(call)
    if (!result.ok || result.response.status === 200) return result
    return { ...notSent(call, { fault: 'refusedCredentials', detail: 'status is not 200' }), sent: true }
  }

  /** Returns a token for the user whose credentials the call has; `refused`: the node refuses this one. */
  readonly issue: Issue = async (call, refused) => this.#tokens?.issue(call, refused) ?? notSent(call, NO_TOKENS)

  /** The layout decides nothing about a call to a drained node, which is rejected anyway. */
  #failureOfUnknownLayout(call: NodeCall): NodeFailure | undefined {
    const { value, reason } = this.layout
    if (value !== undefined || this.#options.drained.has(this.name)) return undefined
    const detail = `the layout of its API is not known yet: ${reason}`
    return notSent(call, { fault: 'ejected', detail, retryAfter: UNKNOWN_LAYOUT_RETRY_AFTER })
  }

  /**
   * Asks the node for its layout in the background if a response does not fit it, or soon if there was none. A failure to
   * answer is no sign of another layout, and a refusal shows the layout: a wrong password leads to no question.
   */
  #observeLayout(result: NodeResult, confirmLayout: NonNullable<ClusterView['confirmLayout']>): void {
    const { value } = this.layout
    if (value === undefined) return
    const fits = result.ok
      ? layoutRules[value].mayAnswer(result.response)
      : result.fault !== 'unreadable' && (result.layout ?? value) === value
    if (!fits) void confirmLayout(this.name, value, result.ok ? undefined : result.layout)
    else if (!result.ok && result.fault === 'unreachable') this.layout.isConfirmed = false
  }

  /** Returns the failure of a call that the node does not receive, and emits its event. */
  #reject(call: NodeCall, rejection: Rejection, queueTime = 0): NodeFailure {
    this.#emit(call, { queueTime, ms: 0, fault: rejection.fault })
    return notSent(call, rejection)
  }

  #emit(call: NodeCall, outcome: Pick<NodeCallEvent, 'queueTime' | 'ms' | 'status' | 'fault'>): void {
    const { requestId, node, method } = call
    const isPassedOn = mayWaitForOther(call) && { isPassedOn: true as const }
    this.#options.onCall?.({ requestId, node, method, route: routeOf(call), ...outcome, ...isPassedOn })
  }

  /** The rules of the layout of the node; `otherwise`: of this one while it is not known. */
  #rulesOr(otherwise: Layout): (typeof layoutRules)[Layout] {
    return layoutRules[this.layout.value ?? otherwise]
  }

  get #perMinute(): number {
    return this.#options.limits().perMinute ?? this.#rulesOr('newer').perMinute
  }

  /** Returns the budget of calls per minute; `undefined`: the node has no such limit. */
  readonly #budgetInUse = (): CallBudget | undefined => {
    if (this.#perMinute === 0) return undefined
    const { counters, clock } = this.#options
    const onChange = () => this.limiter.applyBudget()
    this.#budget ??= new CallBudget({ counters, node: this.name, limit: () => this.#perMinute, clock, onChange })
    return this.#budget
  }

  /** The tokens of the node; `undefined`: its layout has none. */
  get #tokens(): TokenCalls | undefined {
    if (!this.#rulesOr('classic').hasTokens) return undefined
    const { clock, limits, accountOf, log, counters } = this.#options
    this.#tokenCalls ??= new TokenCalls({
      node: this.name,
      send: this.#send,
      accountOf,
      timeout: () => limits().timeout,
      clock: { elapsed: clock, wall: () => Date.now() },
      sleep: (ms) => sleep(ms),
      log,
      counters,
    })
    return this.#tokenCalls
  }

  /** Whether a call may be sent now: the node is neither drained nor ejected, and its queue has space. */
  get isAvailable(): boolean {
    return !this.#options.drained.has(this.name) && this.health.isAdmitting && this.limiter.hasQueueSpace
  }

  /** Calls that would start without queueing, on slots that no replica uses; 0 if the node is not available. */
  get freeSlots(): number {
    return this.isAvailable ? this.limiter.free : 0
  }

  /** Milliseconds until the limit per minute permits this number of reads; Infinity: it never does. */
  waitForReads(calls: number): number {
    return this.#budgetInUse()?.waitFor('interactive', calls) ?? 0
  }

  /** Milliseconds until one more read may be sent after those in the queue. */
  waitForNextRead(): number {
    return this.waitForReads(this.limiter.queue + 1)
  }

  /** Asks the node for its layout. */
  recognise(): Promise<Recognition> {
    return recogniseLayout(this.#attempts.sendOnce, this.name)
  }

  status(): Pick<
    NodeStatus,
    'inFlight' | 'limit' | 'slots' | 'queue' | 'budget' | 'ejectedUntil' | 'hangs' | 'lastFailure'
  > {
    const { inFlight, limit, usable, queue } = this.limiter
    const budget = this.#budgetInUse()?.state
    const { ejectedFor, lastFailure, isSilent, isHanging } = this.health
    return {
      inFlight,
      limit,
      slots: usable,
      queue,
      ...(budget && { budget }),
      ...(ejectedFor !== undefined && { ejectedUntil: Date.now() + ejectedFor }),
      ...((isSilent || isHanging) && { hangs: true }),
      ...(lastFailure && { lastFailure }),
    }
  }

  /** Applies changed limits, and uses these options for new connections. */
  reconfigure(changes: TransportChanges): void {
    this.limiter.applyLimits()
    this.#options.transport.reconfigure(changes)
  }

  /** Rejects new calls, and queued ones after a grace period. Calls in flight finish. */
  async retire(): Promise<void> {
    this.health.retire()
    await new Promise((resolve) => setTimeout(resolve, RETIREMENT_GRACE_MS).unref())
    this.limiter.rejectQueued(this.health.rejection(1))
    await this.#options.transport.close()
    await this.limiter.close()
    this.#budget?.close()
  }

  /** Rejects queued calls and aborts the calls in flight. */
  async destroy(): Promise<void> {
    this.health.retire()
    this.limiter.rejectQueued(this.health.rejection(1))
    this.#budget?.close()
    await Promise.all([this.#options.transport.destroy(), this.limiter.close()])
  }
}
