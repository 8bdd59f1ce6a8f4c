/** The layers of a call within its node, except those of health and tokens. `node.ts` has the order of all. */
import { Readable } from 'node:stream'
import type { NodeCallEvent } from '../core/events.ts'
import type { Layout, NodeCall, NodeFailure } from '../core/node-call.ts'
import type { NodeFault } from '../core/node-faults.ts'
import { PROBLEM_TYPE } from '../core/response.ts'
import { startDeadline } from '../core/timing.ts'
import type { CallBudget } from './call-budget.ts'
import { DRAINED, type DrainedNodes } from './drains.ts'
import type { HealthSignal } from './health.ts'
import { type CallEnd, type Layer, mayWaitForOther, notSent, onEnd, type UpstreamCall } from './layer.ts'
import { type ConcurrencyLimiter, loadSignalOf, type Rejection } from './limiter.ts'
import { BLOCKED, detailOf, problemOf } from './node-response.ts'

type EmitCall = ((event: NodeCallEvent) => void) | undefined

/** Returns the failure of a call that its node does not receive, and emits its event. */
export type Reject = (call: NodeCall, rejection: Rejection, queueTime?: number) => NodeFailure

export function rejecting(onCall: EmitCall): Reject {
  return (call, rejection, queueTime = 0) => {
    emit(onCall, call, { queueTime, ms: 0, fault: rejection.fault })
    return notSent(call, rejection)
  }
}

function emit(
  onCall: EmitCall,
  call: NodeCall,
  outcome: Pick<NodeCallEvent, 'queueTime' | 'ms' | 'status' | 'fault'>,
): void {
  const { requestId, node, method } = call
  onCall?.({
    requestId,
    node,
    method,
    route: routeOf(call),
    ...outcome,
    ...(mayWaitForOther(call) && { isPassedOn: true }),
  })
}

/** Adds to the detail of a failure that its node has another layout than expected. */
export function nameLayout(layout: () => Layout | undefined): Layer {
  return (next) => async (call) => {
    const result = await next(call)
    return result.ok ? result : { ...result, detail: detailOf(result, layout()) }
  }
}

export function refuseDrained(drains: Pick<DrainedNodes, 'has'>, reject: Reject): Layer {
  return (next) => async (call) => (drains.has(call.node) ? reject(call, DRAINED) : next(call))
}

/** The health of the node, as far as these layers need it. */
interface HealthState {
  /** Whether the node does not answer at all. */
  readonly isSilent: boolean
  /** Returns what the end of a call shows; `elapsed`: milliseconds that the call took on the node. */
  signalOf(call: UpstreamCall, end: CallEnd, elapsed: number): HealthSignal
}

interface QueueParts {
  readonly limiter: ConcurrencyLimiter
  readonly health: Pick<HealthState, 'signalOf'>
  readonly onCall: EmitCall
  readonly clock: () => number
}

/** A call waits for a slot, and holds it until its end. Emits the event of a call that was sent. */
export function queue({ limiter, health, onCall, clock }: QueueParts, reject: Reject): Layer {
  return (next) => async (call) => {
    const arrival = clock()
    const endSpan = startQueueSpan(call)
    const deadline = startDeadline(call.timeout, call.signal, clock)
    const slot = await limiter.acquire(call, deadline)
    const start = clock()
    const queueTime = start - arrival
    endSpan(slot.ok ? undefined : slot.fault)
    if (!slot.ok) {
      deadline.end()
      return reject(call, slot, queueTime)
    }
    const result = await next({ ...call, deadline })
    onEnd(call, result, (end) => {
      deadline.end()
      const { failure, status } = end
      const ms = clock() - start
      emit(onCall, call, {
        queueTime,
        ms,
        ...(status === undefined ? failure && { fault: failure.fault } : { status }),
      })
      limiter.release(call, start, loadSignalOf(health.signalOf(call, end, ms)))
    })
    return result
  }
}

/** The layer that ends a call which hangs because of another node. */
export function limitHang(health: Pick<HealthState, 'isSilent'>, clock: () => number): Layer {
  return (next) => async (call) => {
    const { hangsAfter = Number.POSITIVE_INFINITY, deadline } = call
    if (deadline === undefined || hangsAfter >= deadline.remaining()) return next(call)
    const earlier = startDeadline(hangsAfter, call.signal, clock)
    const result = await next({ ...call, deadline: earlier })
    onEnd(call, result, earlier.end)
    return !result.ok && result.fault === 'timeout' && !health.isSilent ? { ...result, hung: true } : result
  }
}

/** Starts the span of the time in the queue. Returns the function that ends it; `fault`: why the call was not sent. */
export function startQueueSpan({ trace, node }: NodeCall): (fault?: NodeFault) => void {
  const span = trace?.recorded ? trace.startSpan('queue', { node }) : undefined
  return (fault) => span?.end(fault === undefined ? {} : { fault })
}

/** Retries per call. A failing node receives at most 1.1 times its normal load. */
const RETRIES_PER_CALL = 0.1
/** Least number of retries that a full budget holds. */
const MIN_RETRIES = 10

/**
 * Sends a call once again if it is retryable and the first attempt failed before a response began. The budget of retries
 * is a token bucket. It starts full, for the moment in which a node closes all idle connections at once.
 */
export function retryOnce(inFlight: () => number): Layer {
  const max = () => Math.max(MIN_RETRIES, inFlight())
  let budget = max()
  return (next) => async (call) => {
    budget = Math.min(max(), budget + RETRIES_PER_CALL)
    const first = await next(call.retryable ? call : { ...call, connection: 'new' })
    if (first.ok || !call.retryable || first.retryable === undefined || budget < 1) return first
    budget -= 1
    const second = await next({ ...call, connection: 'new', resend: 1 })
    // The budget of the node does not permit the retry.
    if (!second.ok && second.fault === 'overloaded') return first
    return second.ok ? second : { ...second, sent: first.sent || second.sent }
  }
}

/** Runs one attempt in a child span, which the node receives as its parent. */
export const traceAttempt: Layer = (next) => async (call) => {
  const { trace, method, node, resend } = call
  if (!trace?.recorded) return next(call)
  const span = trace.startCallSpan({ method, route: routeOf(call), node, ...(resend !== undefined && { resend }) })
  const result = await next({ ...call, trace: span })
  if (!result.ok) {
    span.end({ fault: result.fault })
    return result
  }
  const { status, body } = result.response
  if (body instanceof Readable) {
    // The span of a streamed file ends with its last byte.
    body.once('close', () => span.end({ status, ...(!body.readableEnded && { fault: 'cancelled' as const }) }))
  } else span.end({ status })
  return result
}

/** Returns the route template of a call, without the method. */
function routeOf({ endpoint }: Pick<NodeCall, 'endpoint'>): string {
  return endpoint.slice(endpoint.indexOf(' ') + 1)
}

/**
 * Counts everything that is sent to a node, retries, logins and probes included, in its budget of calls per minute.
 * `showsProblems`: whether responses of the node show that it refuses calls.
 */
export function count(budget: CallBudget, showsProblems: () => boolean): Layer {
  return (next) => async (call) => {
    if (budget.isOff && !showsProblems()) return next(call)
    const unpaid = budget.isOff ? undefined : await budget.pay(call.priority)
    if (unpaid !== undefined) return notSent(call, unpaid)
    const sentAt = budget.now()
    const result = await next(call)
    if (!result.ok) return result
    const { node, status, type, body } = result.response
    const problem = problemOf(result.response, node)
    if (problem !== 'tooManyRequests') budget.recordAnswer(sentAt)
    if (problem === undefined || problem === 'hanging') return result
    if (body instanceof Readable) body.destroy()
    const refusal =
      problem === 'addressBlocked'
        ? BLOCKED
        : ({ fault: 'overloaded', detail: 'too many requests', status, retryAfter: budget.recordRefusal() } as const)
    return notSent(call, type === PROBLEM_TYPE ? { ...refusal, layout: 'newer' } : refusal)
  }
}
