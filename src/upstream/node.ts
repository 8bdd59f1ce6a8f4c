import { Readable } from 'node:stream'
import type { NodeCallEvent } from '../core/events.ts'
import type { NodeCall, NodeFault, NodeResult } from '../core/node-call.ts'
import { type Deadline, startDeadline } from '../core/timing.ts'
import { RetryBudget, routeOf, spanOfAttempt, spanOfWaiting } from './attempts.ts'
import type { Outcome } from './exchange.ts'
import { Health, judge, lessonOf, type Verdict } from './health.ts'
import { Gate, type Refusal } from './limiter.ts'
import type { Failure } from './node-response.ts'
import type { ClusterLog, EjectionSettings, NodeLimits, NodeSetting, NodeStatus } from './options.ts'
import type { Transport } from './transport.ts'

/** One node that the edge has the address of: health, then the gate, then the wire; and what each call teaches. */

export interface NodeParts {
  readonly setting: NodeSetting
  readonly transport: Transport
  readonly limits: NodeLimits
  readonly ejection: EjectionSettings
  readonly log: ClusterLog
  readonly clock: () => number
  readonly onCall?: (call: NodeCallEvent) => void
}

/** Calls in line of a node that was taken away may still go, for so long. */
const GRACE = 800

export class ClusterNode {
  readonly setting: NodeSetting
  readonly transport: Transport
  readonly #parts: NodeParts
  readonly #gate: Gate
  readonly #health: Health
  readonly #budget: RetryBudget
  #retired = false
  #lastFailure: NodeStatus['lastFailure']

  constructor(parts: NodeParts) {
    this.setting = parts.setting
    this.transport = parts.transport
    this.#parts = parts
    this.#gate = new Gate(parts.limits, parts.clock)
    this.#health = new Health(parts.ejection, parts.clock)
    this.#budget = new RetryBudget(Math.max(10, parts.limits.inFlight))
  }

  get available(): boolean {
    return !this.#retired && this.#health.admits && this.#gate.hasRoom
  }

  get spare(): number {
    const { limit, inFlight, queue } = this.#gate
    return this.available ? Math.max(0, limit - inFlight - queue) : 0
  }

  async call(call: NodeCall): Promise<NodeResult> {
    const admission = this.#retired ? ({ ok: false, retryAfter: 1 } as const) : this.#health.admit()
    const came = this.#parts.clock()
    const waited = spanOfWaiting(call)
    if (!admission.ok) {
      waited('ejected')
      return this.#refuse(call, this.#away(admission.retryAfter), came)
    }
    const deadline = startDeadline(call.timeout, call.signal, this.#parts.clock)
    const entry = await this.#gate.enter(call, deadline)
    waited(entry.ok ? undefined : entry.fault)
    if (!entry.ok) {
      deadline.end()
      if (admission.probe) this.#health.abandoned()
      return this.#refuse(call, entry, came)
    }
    const began = this.#parts.clock()
    const outcome = await this.#attempts(call, deadline)
    const over = (failure: Failure | undefined) => {
      deadline.end()
      this.#learn(call, began, failure, admission.probe)
      const status = outcome.ok ? outcome.reply.status : undefined
      this.#tell(call, { queueTime: began - came, ms: this.#parts.clock() - began, status, fault: failure?.fault })
    }
    if (!outcome.ok) {
      over(outcome.failure)
      const { fault, detail } = outcome.failure
      return { ok: false, node: call.node, fault, sent: outcome.sent, detail }
    }
    const { body } = outcome.reply
    if (body instanceof Readable) body.once('close', () => over(streamFailure(body, deadline)))
    else over(undefined)
    return { ok: true, response: outcome.reply }
  }

  status(): Pick<NodeStatus, 'inFlight' | 'limit' | 'queue' | 'ejectedUntil' | 'lastFailure'> {
    const { inFlight, limit, queue } = this.#gate
    const ejectedFor = this.#health.ejectedFor
    return {
      inFlight,
      limit,
      queue,
      ...(ejectedFor !== undefined && { ejectedUntil: Date.now() + ejectedFor }),
      ...(this.#lastFailure && { lastFailure: this.#lastFailure }),
    }
  }

  /** No new calls. Those in line have a moment to go, those under way end in their own time. */
  async retire(): Promise<void> {
    this.#retired = true
    await new Promise((done) => setTimeout(done, GRACE).unref())
    this.#gate.dismiss(this.#away(1))
    await this.transport.close()
  }

  async destroy(): Promise<void> {
    this.#retired = true
    this.#gate.dismiss(this.#away(1))
    await this.transport.destroy()
  }

  async #attempts(call: NodeCall, deadline: Deadline): Promise<Outcome> {
    this.#budget.called()
    const first = await this.#attempt(call, deadline, 0)
    if (first.ok || !call.retryable || first.failure.again === undefined || !this.#budget.take()) return first
    const second = await this.#attempt(call, deadline, 1)
    return second.ok ? second : { ...second, sent: first.sent || second.sent }
  }

  #attempt(call: NodeCall, deadline: Deadline, resend: number): Promise<Outcome> {
    const fresh = resend > 0 || !call.retryable
    return spanOfAttempt(call, resend, (traced) => this.transport.attempt(traced, deadline, fresh))
  }

  #learn(call: NodeCall, began: number, failure: Failure | undefined, probe: boolean): void {
    const verdict = judge(failure, call.timeout, this.#parts.clock() - began)
    if (failure !== undefined && failure.fault !== 'cancelled') this.#remember(failure.fault, failure.detail)
    this.#heed(call, verdict, probe)
    this.#gate.leave(call, began, lessonOf(verdict))
  }

  #heed({ node, endpoint }: NodeCall, verdict: Verdict, probe: boolean): void {
    if (verdict === 'alive') {
      if (this.#health.succeeded()) this.#parts.log('info', 'node answers again', { node })
    } else if (verdict === 'nothing') {
      if (probe) this.#health.abandoned()
    } else if (this.#health.failed(verdict, probe, endpoint)) {
      const seconds = Math.ceil((this.#health.ejectedFor ?? 0) / 1000)
      this.#parts.log('warn', 'node ejected', { node, ...this.#lastFailure, seconds })
      this.#gate.dismiss(this.#away(seconds))
    }
  }

  #refuse(call: NodeCall, refusal: Refusal, came: number): NodeResult {
    this.#tell(call, { queueTime: this.#parts.clock() - came, ms: 0, status: undefined, fault: refusal.fault })
    return refused(call.node, refusal)
  }

  #tell(call: NodeCall, how: Pick<NodeCallEvent, 'ms' | 'queueTime'> & Ended): void {
    const { requestId, node, method } = call
    const { queueTime: waited, ms, status, fault } = how
    const said = fault === undefined ? { ...(status !== undefined && { status }) } : { fault }
    this.#parts.onCall?.({ requestId, node, method, route: routeOf(call), ...said, ms, queueTime: waited })
  }

  #remember(fault: NodeFault, detail: string): void {
    this.#lastFailure = { fault, detail, at: Date.now() }
  }

  #away(retryAfter: number): Refusal {
    const last = this.#lastFailure
    const why = this.#retired
      ? 'taken out of the settings'
      : `left alone after failures${last ? `: ${last.detail}` : ''}`
    return { ok: false, fault: 'ejected', detail: why, retryAfter: Math.max(1, retryAfter) }
  }
}

interface Ended {
  readonly status: number | undefined
  readonly fault: NodeFault | undefined
}

function streamFailure(body: Readable, deadline: Deadline): Failure | undefined {
  if (body.readableEnded) return undefined
  if (deadline.signal.aborted) return { fault: deadline.fault(), detail: 'raw file not over in time' }
  if (body.errored === null) return { fault: 'cancelled', detail: 'client left' }
  return { fault: 'unreadable', detail: body.errored.message }
}

function refused(node: string, { fault, detail, retryAfter }: Refusal): NodeResult {
  return { ok: false, node, fault, sent: false, detail, retryAfter }
}
