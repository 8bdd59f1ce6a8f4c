/** The layer in which a call is admitted to its node, and waits for a slot, which it has until the node has ended its work. */
import { Readable } from 'node:stream'
import type { LateExchange, NodeResult } from '../core/node-call.ts'
import { isAnswered } from '../core/node-faults.ts'
import { type Deadline, startDeadline } from '../core/timing.ts'
import type { Mutable } from '../core/values.ts'
import { type CallEnd, copyWith, endOf, type Send, streamFailureOf, type UpstreamCall } from './call.ts'
import { DRAINED } from './drains.ts'
import type { AgentRead } from './failure/agent-reads.ts'
import { emit, type Layer, reject, type StackParts } from './layer.ts'
import type { Acquisition } from './limiter-parts.ts'

/**
 * Rejects a call to a node that an operator has drained, or that is ejected for this call. Otherwise waits for a slot: the time
 * limit of the call includes the wait.
 */
export const admit =
  (parts: StackParts): Layer =>
  (next) =>
  async (admitted) => {
    const { drained, health, node, clock, agentReads } = parts
    if (drained.has(node)) return reject(parts, admitted, DRAINED)
    const span = admitted.trace?.recorded ? admitted.trace.startSpan('queue', { node }) : undefined
    const admission = health.admit(admitted)
    if (!admission.ok) {
      span?.end({ fault: admission.fault })
      return reject(parts, admitted, admission)
    }
    const { probeOf } = admission
    const probeStart = probeOf?.probeStart
    const call = probeOf === undefined ? admitted : copyWith(admitted, { probeOf })
    const arrival = clock()
    const deadline = startDeadline(call.timeout, call.signal, clock)
    const read = call.agentData === undefined ? undefined : agentReads.open(call.agentData)
    const slot = await acquireSlot(parts, call, deadline, read)
    const queueTime = clock() - arrival
    span?.end(slot.ok ? {} : { fault: slot.fault })
    // A write is sent as a whole, once a part of it was sent.
    if (slot.ok && call.method !== 'GET') call.presence?.pin?.()
    if (!slot.ok) deadline.end()
    const result = slot.ok
      ? await new CallInSlot(parts, { call, deadline, queueTime, read }).send(next)
      : reject(parts, call, slot, queueTime)
    probeOf?.endProbe(probeStart)
    return result
  }

/** A read of an agent's database takes no slot from other calls while earlier ones have no response (`agent-reads.ts`). */
async function acquireSlot(
  { limiter, clock, health }: Pick<StackParts, 'limiter' | 'clock' | 'health'>,
  call: UpstreamCall,
  deadline: Deadline,
  read: AgentRead | undefined,
): Promise<Acquisition> {
  for (;;) {
    const rejection = read && (await read.enter(deadline, call))
    if (rejection !== undefined) return rejection
    const acquired = limiter.acquire(call, deadline)
    const slot = acquired instanceof Promise ? await acquired : acquired
    const hasWaited = read !== undefined || slot !== acquired
    const refusal = slot.ok && hasWaited ? health.recheck(call) : undefined
    if (slot.ok && refusal === undefined && read?.take() !== false) return slot
    read?.leave()
    if (!slot.ok) return slot
    limiter.release(call, clock(), 'none')
    if (refusal !== undefined) return refusal
  }
}

interface QueuedCall {
  readonly call: UpstreamCall
  readonly deadline: Deadline
  readonly queueTime: number
  readonly read: AgentRead | undefined
}

/** Statuses by which a node refuses a call because it has too many at once. */
const TOO_MANY: ReadonlySet<number | undefined> = new Set([429, 503])
/** The greatest time that a late call keeps its slot after its deadline. */
const MAX_LATE_MS = 120_000

/**
 * Ends a call that hangs because of another node (`hangsAfter`) before its deadline. Records its end, and emits its event.
 *
 * A node works on a call after its client or edge has left. So a call that ends before its response (its deadline, a client that
 * has left, the attempt of two that comes second) is late, and keeps its slot until the first of
 *
 * - the node has answered, or has ended the connection;
 * - `min(timeout, MAX_LATE_MS)` after its deadline, or after its end if it has no timeout;
 * - the edge finds that what the call waits for hangs: the node answers nothing, or not these reads (`health.ts`), the database
 *   of the agent is stuck, or the node behind this one hangs.
 */
class CallInSlot {
  readonly #parts: StackParts
  readonly #queued: QueuedCall
  readonly #start: number
  /** The earlier deadline of a call that may hang because of another node. */
  readonly #hang: Deadline | undefined
  #endWatch: (isAnswered: boolean) => void = () => {}
  #late: LateExchange | undefined
  #isGivenUp = false

  constructor(parts: StackParts, queued: QueuedCall) {
    const { call, deadline } = queued
    const { hangsAfter } = call
    const mayHang = hangsAfter !== undefined && hangsAfter < deadline.remaining()
    this.#parts = parts
    this.#queued = queued
    this.#hang = mayHang ? startDeadline(hangsAfter, call.signal, parts.clock) : undefined
    this.#start = parts.clock()
  }

  async send(next: Send): Promise<NodeResult> {
    const { health, limiter, layout, agentReads } = this.#parts
    const { call, read } = this.#queued
    const deadline = this.#hang ?? this.#queued.deadline
    const usualTime = limiter.times.expected(call.endpoint)
    call.onSlot?.(usualTime)
    const giveUp = () => {
      this.#isGivenUp = true
      deadline.expire()
      this.#late?.end()
    }
    this.#endWatch = health.silence.begin({ call, giveUp, usualTime })
    read?.begin(usualTime, () => limiter.release(call, this.#start, 'none'))
    const sent: Mutable<UpstreamCall> = copyWith(call, { deadline, hasSlot: true as const })
    // Reads without a slot have the connections of the pool.
    if (agentReads.withoutSlot > 0) sent.connection = 'new'
    const result = await next(sent)
    this.#late = result.ok ? undefined : result.late
    if (this.#late === undefined) this.#endWatch(result.ok || isAnswered(result))
    const isHung = !result.ok && this.#hang !== undefined && result.fault === 'timeout' && !health.isSilent
    const end = endOf(call, result)
    const file = end.response?.body
    if (file instanceof Readable) {
      file.once('close', () => this.#end({ ...end, failure: streamFailureOf(file) }, result, isHung))
    } else this.#end(end, result, isHung)
    if (result.ok) return result
    const isOther = result.layout !== undefined && layout.value !== undefined && result.layout !== layout.value
    return { ...result, ...(isHung && { hung: true }), ...(isOther && { otherLayout: result.layout }) }
  }

  #end(end: CallEnd, result: NodeResult, isHung: boolean): void {
    const { health, limiter, clock } = this.#parts
    const { call, deadline, queueTime, read } = this.#queued
    this.#hang?.end()
    deadline.end()
    const { failure, status } = end
    const ms = clock() - this.#start
    const isStuck = isHung || read?.showsNothing === true
    const ended = read?.showsNothing ? { ...call, mayBePassedOn: true as const } : call
    const signal = health.record(ended, end, ms)
    const outcome = status === undefined ? failure && { fault: failure.fault } : { status }
    emit(this.#parts, call, { queueTime, ms, ...outcome })
    const hasTooMany = failure === undefined ? TOO_MANY.has(status) : failure.fault === 'unreachable'
    const hasSlot = read?.hasSlot !== false
    const late = this.#late
    if (hasSlot && late === undefined) limiter.release(call, this.#start, hasTooMany ? 'tooMany' : signal)
    read?.end(result.ok || isAnswered(result))
    if (late === undefined) return
    if (hasSlot) limiter.keep(call, this.#start, signal)
    const left = call.timeout === undefined ? 0 : Math.max(0, deadline.remaining())
    this.#awaitLate(late, left + Math.min(call.timeout ?? MAX_LATE_MS, MAX_LATE_MS), hasSlot)
    if (isStuck || this.#isGivenUp || !hasSlot) late.end()
  }

  /** Waits for the end of the work on the node, at most `ms`. */
  #awaitLate(late: LateExchange, ms: number, hasSlot: boolean): void {
    const { health, limiter, clock } = this.#parts
    const { call } = this.#queued
    const bound = startDeadline(ms, undefined, clock)
    bound.signal.addEventListener('abort', late.end, { once: true })
    void late.result.then((last) => {
      bound.end()
      const isAnswer = last.ok || isAnswered(last)
      this.#endWatch(isAnswer)
      const signal = isAnswer ? health.record(call, endOf(call, last), clock() - this.#start) : 'none'
      if (hasSlot) limiter.release(call, this.#start, signal)
    })
  }
}
