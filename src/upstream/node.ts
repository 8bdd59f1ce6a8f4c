/** One node with an address: health check, concurrency limit, attempts, and what each call shows about the node. */
import { Readable } from 'node:stream'
import type { NodeFault } from '../core/errors.ts'
import type { NodeCallEvent } from '../core/events.ts'
import type { Layout, NodeCall, NodeResult } from '../core/node-call.ts'
import { type Deadline, startDeadline } from '../core/timing.ts'
import { outcomeOf, sendAliveProbe } from './alive-probe.ts'
import { RetryBudget, routeOf, sendWithRetry, startQueueSpan } from './attempts.ts'
import { CallBudget } from './budget.ts'
import { DRAINED } from './drained-nodes.ts'
import { ConcurrencyLimiter, loadSignalOf, type Rejection } from './limiter.ts'
import { meter } from './metered-transport.ts'
import { type CallEnd, ejected, NodeHealth, type NodeHealthOptions } from './node-health.ts'
import { problemOf } from './node-problems.ts'
import { type CallFailure, detailOf } from './node-response.ts'
import {
  type ClusterLog,
  DEFAULT_PER_MINUTE,
  type EjectionSettings,
  type NodeLimits,
  type NodeSetting,
  type NodeStatus,
} from './options.ts'
import type { SharedPermits } from './permits.ts'
import type { SharedSlots } from './slots.ts'
import type { OpenSlots } from './slots-in-use.ts'
import type { AuthorizedCall } from './tokens/authorized-call.ts'
import type { Transport, TransportChanges } from './transport.ts'

export interface UpstreamNodeOptions {
  readonly setting: NodeSetting
  readonly transport: Transport
  readonly limits: () => NodeLimits
  readonly ejection: EjectionSettings
  readonly log: ClusterLog
  readonly slots: SharedSlots
  readonly permits: SharedPermits
  /** Returns the layout of the API of the node; undefined before it is recognised. */
  readonly layout: () => Layout | undefined
  /** Whether an operator has drained the node. */
  readonly isDrained: () => boolean
  readonly clock: () => number
  readonly onCall?: (call: NodeCallEvent) => void
  /** Called when an ejection of this node begins. */
  readonly onEject?: (node: string) => void
  /** Called when a probe of the edge has ended an ejection of this node. */
  readonly onRecover?: (node: string) => void
  /** See `NodeHealthOptions`. */
  readonly onHang?: (probeIn: number) => void
  /** See `RecoveryOptions`. */
  readonly reserveAttempt: NodeHealthOptions['reserveAttempt']
}

/** Time in which queued calls of a retired node may still start. */
const RETIREMENT_GRACE_MS = 800
/** Faults of calls that the node has not answered. */
const WITHOUT_RESPONSE: ReadonlySet<NodeFault> = new Set(['timeout', 'cancelled', 'unreachable', 'overloaded'])
/** Least number of retries that a full budget holds. */
const MIN_RETRY_BUDGET = 10

export class UpstreamNode {
  readonly setting: NodeSetting
  readonly transport: Transport
  readonly #options: UpstreamNodeOptions
  readonly #limiter: ConcurrencyLimiter
  readonly #callBudget: CallBudget
  readonly #health: NodeHealth
  readonly #budget: RetryBudget
  #isRetired = false

  constructor(options: UpstreamNodeOptions) {
    this.setting = options.setting
    this.#options = options
    const { setting, slots, limits, layout, clock } = options
    const perMinute = () => limits().perMinute ?? DEFAULT_PER_MINUTE[layout() ?? 'newer']
    const permits = options.permits.open(setting.name, perMinute)
    this.#callBudget = new CallBudget({ permits, limit: perMinute, clock })
    this.transport = meter(options.transport, this.#callBudget, () => this.#isNewer)
    const openSlots: OpenSlots = (kind, limit, onChange) =>
      slots.open(kind === 'all' ? setting.name : `${setting.name}:${kind}`, limit, onChange)
    this.#limiter = new ConcurrencyLimiter(limits, clock, openSlots, this.#callBudget)
    this.#health = new NodeHealth({
      node: setting.name,
      ejection: options.ejection,
      log: options.log,
      clock,
      onEject: (rejection, begins) => {
        this.#limiter.rejectQueued(rejection)
        if (begins) options.onEject?.(setting.name)
      },
      ...(options.onHang && { onHang: options.onHang }),
      onRecover: () => options.onRecover?.(setting.name),
      reserveAttempt: options.reserveAttempt,
      probe: async () => {
        const { transport } = this
        const timeout = options.ejection.silence.probeTimeout
        return outcomeOf(await sendAliveProbe({ node: setting.name, transport, timeout, clock, caller: 'probe' }))
      },
    })
    this.#budget = new RetryBudget(() => Math.max(MIN_RETRY_BUDGET, limits().inFlight))
  }

  get #isNewer(): boolean {
    return this.#options.layout() !== 'classic'
  }

  /** Whether a call may be sent now: the node is neither drained nor ejected, and its queue has space. */
  get isAvailable(): boolean {
    if (this.#options.isDrained()) return false
    return !this.#isRetired && this.#health.isAdmitting && this.#limiter.hasQueueSpace
  }

  /** Whether the node was found not to answer at all. */
  get isSilent(): boolean {
    return this.#health.isSilent
  }

  /** Calls that would start without queueing, on slots that no replica uses; 0 if the node is not available. */
  get freeSlots(): number {
    return this.isAvailable ? this.#limiter.free : 0
  }

  /** Milliseconds until the limit per minute permits this number of reads; Infinity: it never does. */
  waitForReads(calls: number): number {
    return this.#callBudget.waitFor('interactive', calls)
  }

  async call(call: AuthorizedCall): Promise<NodeResult> {
    const { clock, isDrained } = this.#options
    if (isDrained()) return this.#reject(call, DRAINED, clock())
    const admission = this.#isRetired ? ({ ok: false, retryAfter: 1 } as const) : this.#health.admit(call)
    const arrival = clock()
    const endQueueSpan = startQueueSpan(call)
    if (!admission.ok) {
      endQueueSpan('ejected')
      return this.#reject(call, this.#ejectedRejection(admission.retryAfter), arrival)
    }
    let deadline = startDeadline(call.timeout, call.signal, clock)
    const slot = await this.#limiter.acquire(call, deadline)
    endQueueSpan(slot.ok ? undefined : slot.fault)
    if (!slot.ok) {
      deadline.end()
      if (admission.isProbe) this.#health.abandonProbe()
      return this.#reject(call, slot, arrival)
    }
    const start = clock()
    const isLimited = call.hangsAfter !== undefined && call.hangsAfter < deadline.remaining()
    if (isLimited) {
      deadline.end()
      deadline = startDeadline(call.hangsAfter, call.signal, clock)
    }
    const usualTime = this.#limiter.expectedTime(call.endpoint)
    const end = this.#health.begin({ isRead: call.retryable, deadline, usualTime })
    const result = await sendWithRetry(call, deadline, { transport: this.transport, budget: this.#budget })
    end(result.ok || !WITHOUT_RESPONSE.has(result.failure.fault))
    const showsHang = result.ok && this.#isNewer && problemOf(result.response, call.node) === 'hanging'
    const finish = (failure: CallFailure | undefined, status = result.ok ? result.response.status : undefined) => {
      deadline.end()
      this.#recordEnd(call, start, { failure, showsHang, isProbe: admission.isProbe })
      // A node that refused the call with a status has answered it.
      const fault = status === undefined ? failure?.fault : undefined
      this.#emit(call, { queueTime: start - arrival, ms: clock() - start, status, fault })
    }
    if (!result.ok) {
      const { fault, retryAfter, status, layout } = result.failure
      const detail = detailOf(result.failure, this.#options.layout())
      // A token has ended: a response of a node that works.
      if (fault === 'refusedCredentials' && call.authorization?.isRenewable) finish(undefined, 401)
      else finish(result.failure, status)
      const hung = isLimited && fault === 'timeout' && !this.#health.isSilent && { hung: true as const }
      const more = { ...(retryAfter !== undefined && { retryAfter }), ...(layout && { layout }), ...hung }
      return { ok: false, node: call.node, fault, sent: result.sent, detail, ...more }
    }
    const { body } = result.response
    if (body instanceof Readable) body.once('close', () => finish(streamFailureOf(body, deadline)))
    else finish(undefined)
    return { ok: true, response: result.response }
  }

  status(): Pick<NodeStatus, 'inFlight' | 'limit' | 'slots' | 'queue' | 'budget' | 'ejectedUntil' | 'lastFailure'> {
    const { inFlight, limit, usable, queue } = this.#limiter
    const budget = this.#callBudget.state
    const { ejectedFor, lastFailure } = this.#health
    return {
      inFlight,
      limit,
      slots: usable,
      queue,
      ...(budget && { budget }),
      ...(ejectedFor !== undefined && { ejectedUntil: Date.now() + ejectedFor }),
      ...(lastFailure && { lastFailure }),
    }
  }

  /** Applies changed limits, and uses these options for new connections. */
  reconfigure(changes: TransportChanges): void {
    this.#limiter.applyLimits()
    this.transport.reconfigure(changes)
  }

  /** Rejects the queued calls, because the node was drained. Calls in flight finish. */
  rejectQueued(): void {
    this.#limiter.rejectQueued(DRAINED)
  }

  /** Forgets the failures before a maintenance. */
  forgetFailures(): void {
    this.#health.forget()
  }

  /** Rejects new calls, and queued ones after a grace period. Calls in flight finish. */
  async retire(): Promise<void> {
    this.#isRetired = true
    this.#health.stop()
    await new Promise((resolve) => setTimeout(resolve, RETIREMENT_GRACE_MS).unref())
    this.#limiter.rejectQueued(this.#ejectedRejection(1))
    await this.transport.close()
    await this.#limiter.close()
    this.#callBudget.close()
  }

  /** Rejects queued calls and aborts the calls in flight. */
  async destroy(): Promise<void> {
    this.#isRetired = true
    this.#health.stop()
    this.#limiter.rejectQueued(this.#ejectedRejection(1))
    this.#callBudget.close()
    await Promise.all([this.transport.destroy(), this.#limiter.close()])
  }

  #recordEnd(call: NodeCall, start: number, end: Omit<CallEnd, 'elapsed'>): void {
    const signal = this.#health.record(call, { ...end, elapsed: this.#options.clock() - start })
    this.#limiter.release(call, start, loadSignalOf(signal))
  }

  #reject(call: NodeCall, { ok: _, ...rejection }: Rejection, arrival: number): NodeResult {
    const { fault } = rejection
    this.#emit(call, { queueTime: this.#options.clock() - arrival, ms: 0, status: undefined, fault })
    return { ok: false, node: call.node, sent: false, ...rejection }
  }

  #emit(
    call: NodeCall,
    {
      status,
      fault,
      ...times
    }: Pick<NodeCallEvent, 'ms' | 'queueTime'> & {
      readonly status: number | undefined
      readonly fault: NodeFault | undefined
    },
  ): void {
    const { requestId, node, method } = call
    const result = fault === undefined ? { ...(status !== undefined && { status }) } : { fault }
    this.#options.onCall?.({ requestId, node, method, route: routeOf(call), ...result, ...times })
  }

  /** `retryAfter` in seconds. */
  #ejectedRejection(retryAfter: number): Rejection {
    return this.#isRetired ? ejected('removed from cluster.nodes', retryAfter) : this.#health.rejection(retryAfter)
  }
}

/** Returns why a streamed file ended early; `undefined` if it is complete. */
function streamFailureOf(body: Readable, deadline: Deadline): CallFailure | undefined {
  if (body.readableEnded) return undefined
  if (deadline.signal.aborted) return { fault: deadline.fault(), detail: 'raw file not complete before the deadline' }
  if (body.errored === null) return { fault: 'cancelled', detail: 'client disconnected' }
  return { fault: 'unreadable', detail: body.errored.message }
}
