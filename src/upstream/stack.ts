/**
 * The order of what happens to a call to one node: `createStack` lists the layers. All have one shape: a layer gets the
 * next one, and returns what sends a call through both.
 */
import { Readable } from 'node:stream'
import type { NodeCallEvent } from '../core/events.ts'
import type { ClusterView, LateExchange, NodeCall, NodeFailure, NodeResult } from '../core/node-call.ts'
import { isAnswered } from '../core/node-faults.ts'
import { PROBLEM_TYPE } from '../core/response.ts'
import { type Deadline, startDeadline } from '../core/timing.ts'
import type { Span, Trace } from '../core/trace.ts'
import { layoutRules, versionIn } from '../layouts/dialect.ts'
import { notSent, onEnd, routeOf, type Send, type UpstreamCall } from './call.ts'
import { type CallBudget, UNKNOWN_WAIT_SECONDS } from './call-budget.ts'
import { DRAINED, type DrainedNodes } from './drains.ts'
import type { AgentRead, AgentReads } from './failure/agent-reads.ts'
import type { NodeHealth } from './failure/health.ts'
import type { PassedOnCalls } from './failure/passed-on-calls.ts'
import type { LayoutState } from './layouts.ts'
import type { Acquisition, ConcurrencyLimiter } from './limiter.ts'
import { BLOCKED, problemOf, type Rejection } from './node-response.ts'
import type { ClusterSettings } from './options.ts'
import { sendLateAgain } from './second-attempts.ts'
import type { TokenCalls } from './tokens/token-calls.ts'

/** Returns what passes a call on to `next`, or answers it. */
type Layer = (next: Send) => Send

/** What the layers of one node share. */
interface StackParts extends Pick<ClusterSettings, 'clock' | 'limits' | 'onCall'> {
  readonly node: string
  readonly layout: LayoutState
  readonly confirmLayout?: ClusterView['confirmLayout'] | undefined
  readonly drained: DrainedNodes
  readonly passedOn: Pick<PassedOnCalls, 'send'>
  readonly agentReads: AgentReads
  readonly health: NodeHealth
  readonly limiter: ConcurrencyLimiter
  /** Returns the tokens of the node; `undefined`: its layout has none. */
  readonly tokens: () => Pick<TokenCalls, 'call'> | undefined
  /** Returns the budget of calls per minute; `undefined`: the node has no such limit. */
  readonly budget: () => CallBudget | undefined
  /** Whether responses of the node show that it refuses calls. */
  readonly showsProblems: () => boolean
  /** Called with the version in a response to `GET /`, whatever it was sent for. */
  readonly onVersion: (version: string) => void
  /** Sends a call once. */
  readonly transport: { readonly send: Send }
}

/** `call`: for clients. `login`: for logins, and calls whose credentials the node checks. `probe`: past health and queue. */
export type Stack = Readonly<Record<'call' | 'login' | 'probe', Send>>

export function createStack(parts: StackParts): Stack {
  const probe = compose([countCall(parts)], parts.transport.send)
  const login = compose([refuseDrained(parts), eject(parts), queue(parts), retryOnce(parts), traceAttempt], probe)
  const call = compose(
    [sendLateAgain(parts), limitPassedOn(parts), requireLayout(parts), observeLayout(parts), authorise(parts)],
    login,
  )
  return { call, login, probe }
}

/** The first layer is the outermost one. */
function compose(layers: readonly Layer[], last: Send): Send {
  return layers.reduceRight((next, layer) => layer(next), last)
}

const limitPassedOn =
  ({ passedOn }: StackParts): Layer =>
  (next) =>
  (call) =>
    call.passedOnTo === undefined ? next(call) : passedOn.send(call, next)

const requireLayout =
  (parts: StackParts): Layer =>
  (next) =>
  (call) => {
    const failure = failureOfUnknownLayout(parts, call)
    return failure === undefined ? next(call) : Promise.resolve(failure)
  }

/** Each second, a node of unknown layout is asked again. */
const UNKNOWN_LAYOUT_RETRY_AFTER_SECONDS = 1

/** The layout decides nothing about a call to a drained node, which is rejected anyway. */
export function failureOfUnknownLayout(
  { node, layout, drained }: Pick<StackParts, 'node' | 'layout' | 'drained'>,
  call: NodeCall,
): NodeFailure | undefined {
  if (layout.value !== undefined || drained.has(node)) return undefined
  return notSent(call, {
    fault: 'ejected',
    reason: 'layoutUnknown',
    about: layout.reason,
    retryAfter: UNKNOWN_LAYOUT_RETRY_AFTER_SECONDS,
  })
}

/**
 * Asks the node for its layout in the background if a response does not fit it. A failure to answer is no sign of another
 * layout, and a refusal shows the layout: a wrong password leads to no question.
 */
const observeLayout =
  ({ node, layout, confirmLayout }: StackParts): Layer =>
  (next) => {
    if (confirmLayout === undefined) return next
    return async (call) => {
      const result = await next(call)
      const { value } = layout
      if (value === undefined) return result
      const fits = result.ok
        ? layoutRules[value].mayAnswer(result.response)
        : result.fault !== 'unreadable' && (result.layout ?? value) === value
      if (!fits) void confirmLayout(node, value, result.ok ? undefined : result.layout)
      return result
    }
  }

/** In the v4 layout a call has a token. In the v3 one, the transport adds the credentials. */
const authorise =
  ({ tokens }: StackParts): Layer =>
  (next) =>
  (call) =>
    tokens()?.call(call) ?? next(call)

const refuseDrained =
  (parts: StackParts): Layer =>
  (next) =>
  (call) =>
    parts.drained.has(parts.node) ? Promise.resolve(reject(parts, call, DRAINED)) : next(call)

const eject =
  (parts: StackParts): Layer =>
  (next) =>
  (call) => {
    const { health } = parts
    const admission = health.admit(call)
    if (!admission.ok) {
      startQueueSpan(call)?.end({ fault: admission.fault })
      return Promise.resolve(reject(parts, call, admission))
    }
    const { probeOf } = admission
    return probeOf === undefined ? next(call) : next({ ...call, probeOf }).finally(() => probeOf.endProbe())
  }

/** Waits for a slot. The time limit of the call includes the wait. */
const queue =
  (parts: StackParts): Layer =>
  (next) =>
  async (call) => {
    const { clock, agentReads } = parts
    const span = startQueueSpan(call)
    const arrival = clock()
    const deadline = startDeadline(call.timeout, call.signal, clock)
    const read = call.agentData === undefined ? undefined : agentReads.open(call.agentData)
    const slot = await acquireSlot(parts, call, deadline, read)
    const queueTime = clock() - arrival
    span?.end(slot.ok ? {} : { fault: slot.fault })
    // A write is sent as a whole, once a part of it was sent.
    if (slot.ok && call.method !== 'GET') call.presence?.pin?.()
    if (slot.ok) return sendInSlot(parts, next, { call, deadline, queueTime, read })
    deadline.end()
    return reject(parts, call, slot, queueTime)
  }

/** A read of an agent's database that is found to be stuck meanwhile takes no slot from other calls. */
async function acquireSlot(
  { limiter, clock, health }: Pick<StackParts, 'limiter' | 'clock' | 'health'>,
  call: UpstreamCall,
  deadline: Deadline,
  read: AgentRead | undefined,
): Promise<Acquisition> {
  for (;;) {
    const rejection = read && (await read.enter(deadline, call))
    if (rejection !== undefined) return rejection
    const slot = await limiter.acquire(call, deadline)
    const stuck = slot.ok ? health.stuckReads.recheck(call) : undefined
    if (slot.ok && stuck === undefined && read?.isHeld !== true) return slot
    read?.leave()
    if (!slot.ok) return slot
    limiter.release(call, clock(), 'none')
    if (stuck !== undefined) return stuck
  }
}

function startQueueSpan({ trace, node }: UpstreamCall): Span | undefined {
  return trace?.recorded ? trace.startSpan('queue', { node }) : undefined
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
 * A node works on a call whose client or edge has gone. So a call that ends before its response (its deadline, a client that
 * has left, the attempt of two that comes second) is late, and keeps its slot until the first of
 *
 * - the node has answered, or has ended the connection;
 * - `min(timeout, MAX_LATE_MS)` after its deadline, or after its end if it has no timeout;
 * - the edge finds that what the call waits for hangs: the node answers nothing, or not these reads (`health.ts`), the database
 *   of the agent is stuck, or the node behind this one hangs.
 */
async function sendInSlot(
  parts: StackParts,
  next: Send,
  { call, deadline, queueTime, read }: QueuedCall,
): Promise<NodeResult> {
  const { health, limiter, clock, layout, agentReads } = parts
  const { hangsAfter = Number.POSITIVE_INFINITY } = call
  const hang = hangsAfter < deadline.remaining() ? startDeadline(hangsAfter, call.signal, clock) : undefined
  // Reads without a slot have the connections of the pool.
  const connection = agentReads.withoutSlot > 0 && { connection: 'new' as const }
  const ownDeadline = hang ?? deadline
  const sent = { ...call, deadline: ownDeadline, hasSlot: true as const, ...connection }
  const start = clock()
  const usualTime = limiter.expectedTime(call.endpoint)
  call.onSlot?.(usualTime)
  let isGivenUp = false
  let late: LateExchange | undefined
  const giveUp = () => {
    isGivenUp = true
    ownDeadline.expire()
    late?.end()
  }
  const endWatch = health.silence.begin({ call, giveUp, usualTime })
  read?.begin(usualTime, () => limiter.release(call, start, 'none'))
  const result = await next(sent)
  late = result.ok ? undefined : result.late
  if (late === undefined) endWatch(result.ok || isAnswered(result))
  const isHung = !result.ok && hang !== undefined && result.fault === 'timeout' && !health.isSilent
  onEnd(call, result, (end) => {
    const left = call.timeout === undefined ? 0 : Math.max(0, deadline.remaining())
    hang?.end()
    deadline.end()
    const { failure, status } = end
    const ms = clock() - start
    const isStuck = isHung || read?.showsNothing === true
    const ended = read?.showsNothing ? { ...call, mayBePassedOn: true as const } : call
    const signal = health.record(ended, end, ms)
    const outcome = status === undefined ? failure && { fault: failure.fault } : { status }
    emit(parts, call, { queueTime, ms, ...outcome })
    const hasTooMany = failure === undefined ? TOO_MANY.has(status) : failure.fault === 'unreachable'
    const hasSlot = read?.hasSlot !== false
    if (hasSlot && late === undefined) limiter.release(call, start, hasTooMany ? 'tooMany' : signal)
    read?.end(result.ok || isAnswered(result))
    if (late === undefined) return
    if (hasSlot) limiter.keep(call, start, signal)
    const bound = startDeadline(left + Math.min(call.timeout ?? MAX_LATE_MS, MAX_LATE_MS), undefined, clock)
    bound.signal.addEventListener('abort', late.end, { once: true })
    if (isStuck || isGivenUp || !hasSlot) late.end()
    void late.result.then((last) => {
      bound.end()
      const isAnswer = last.ok || isAnswered(last)
      endWatch(isAnswer)
      onEnd(call, last, (lateEnd) => {
        const lateSignal = isAnswer ? health.record(call, lateEnd, clock() - start) : 'none'
        if (hasSlot) limiter.release(call, start, lateSignal)
      })
    })
  })
  if (result.ok) return result
  const isOther = result.layout !== undefined && layout.value !== undefined && result.layout !== layout.value
  return { ...result, ...(isHung && { hung: true }), ...(isOther && { otherLayout: result.layout }) }
}

/** Retries per call. A failing node receives at most 1.1 times its normal load. */
const RETRIES_PER_CALL = 0.1
/** Least number of retries that a full budget holds. */
const MIN_RETRIES = 10

/**
 * Sends a read once again, on a new connection, if the first attempt failed before a response began. A connection of the
 * pool may have been closed by the node, so a read on one reserves its retry. Without a retry left, a read begins on a new
 * connection.
 */
const retryOnce =
  ({ limits }: StackParts): Layer =>
  (next) => {
    // The budget of retries, a token bucket. It starts full, for the moment in which a node closes all idle connections.
    let retries = Number.POSITIVE_INFINITY
    const addRetries = (count: number) => {
      retries = Math.min(Math.max(MIN_RETRIES, limits().inFlight), retries + count)
    }
    return async (call) => {
      addRetries(RETRIES_PER_CALL)
      if (!call.retryable || retries < 1) return next({ ...call, connection: 'new' })
      retries -= 1
      const first = await next(call)
      if (first.ok || first.retryable === undefined) {
        addRetries(1)
        return first
      }
      const second = await next({ ...call, connection: 'new', resend: 1 })
      // The budget of the node does not permit the retry.
      if (!second.ok && second.fault === 'overloaded') return first
      return second.ok ? second : { ...second, sent: first.sent || second.sent }
    }
  }

/** Runs one attempt in a child span, which the node receives as its parent. */
const traceAttempt: Layer = (next) => (call) => (call.trace?.recorded ? sendInSpan(call, call.trace, next) : next(call))

async function sendInSpan(call: UpstreamCall, trace: Trace, next: Send): Promise<NodeResult> {
  const { method, node, resend } = call
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

/** Counts everything that is sent to the node, retries, logins and probes included, in its budget of calls per minute. */
const countCall =
  ({ budget: budgetInUse, showsProblems, clock, onVersion }: StackParts): Layer =>
  (next) => {
    const sendCounted = async (call: UpstreamCall, budget: CallBudget | undefined): Promise<NodeResult> => {
      // Reads are paced when they start. A retry that waited for its turn would be a failure instead.
      const unpaid = await budget?.pay(call.resend === undefined ? call.priority : 'write')
      if (unpaid !== undefined) return notSent(call, unpaid)
      const start = clock()
      const result = await next(call)
      if (!result.ok) return result
      const version = call.endpoint === 'GET /' ? versionIn(result.response, 'v4') : undefined
      if (version !== undefined) onVersion(version)
      const { node, status, type, body } = result.response
      const problem = problemOf(result.response, node)
      if (problem !== 'tooManyRequests') budget?.recordAnswer(clock() - start)
      if (problem === undefined || problem === 'hanging') return result
      if (body instanceof Readable) body.destroy()
      const tooMany = () => {
        const retryAfter = budget?.recordRefusal() ?? UNKNOWN_WAIT_SECONDS
        return { fault: 'overloaded', reason: 'tooManyRequests', status, retryAfter } as const
      }
      const refusal = problem === 'addressBlocked' ? BLOCKED : tooMany()
      return notSent(call, type === PROBLEM_TYPE ? { ...refusal, layout: 'v4' } : refusal)
    }
    return (call) => {
      const budget = budgetInUse()
      return budget === undefined && !showsProblems() ? next(call) : sendCounted(call, budget)
    }
  }

/** Returns the failure of a call that the node does not receive, and emits its event. */
function reject(parts: StackParts, call: NodeCall, rejection: Rejection, queueTime = 0): NodeFailure {
  emit(parts, call, { queueTime, ms: 0, fault: rejection.fault })
  return notSent(call, rejection)
}

function emit(
  { onCall }: StackParts,
  call: NodeCall,
  outcome: Pick<NodeCallEvent, 'queueTime' | 'ms' | 'status' | 'fault'>,
): void {
  const { requestId, node, method } = call
  onCall?.({ requestId, node, method, route: routeOf(call), ...outcome })
}
