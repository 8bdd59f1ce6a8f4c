/** A call on its way to a node: its attempts and their count, its end, and its failure if it is not sent. */
import { Readable } from 'node:stream'
import type { NodeCall, NodeFailure, NodeResponse, NodeResult } from '../core/node-call.ts'
import type { NodeFault } from '../core/node-faults.ts'
import { PROBLEM_TYPE } from '../core/response.ts'
import type { Deadline } from '../core/timing.ts'
import { type CallBudget, UNKNOWN_WAIT_SECONDS } from './call-budget.ts'
import { BLOCKED, type CallFailure, problemOf } from './node-response.ts'

/** A call on its way to its node, with what the steps before have added for the later ones (`node.ts`). */
export interface UpstreamCall extends NodeCall {
  /** Absent: the node has the classic layout, and its transport adds the credentials. */
  readonly authorization?: Authorization
  /** The outcome decides whether the ejection of the node ends. */
  readonly isProbe?: boolean
  /** Absent: the transport starts it. */
  readonly deadline?: Deadline
  /** A connection that has never been idle. Absent: one of the pool. */
  readonly connection?: 'new'
  /** How many times the call was sent before. */
  readonly resend?: number
}

export interface Authorization {
  /** Returns the value of the header; `undefined`: no header. A function, so that no copy or dump of a call shows it. */
  header(): string | undefined
  /** Whether a refusal (401) leads to another login: then it shows nothing about the credentials. */
  readonly isRenewable: boolean
  /** Greatest size of the response in bytes. Absent: `cluster.limits.response`. */
  readonly maxBytes?: number
}

/** Authorises nothing: the node refuses the call, which shows at least that it answers. */
export const ANONYMOUS: Authorization = { header: () => undefined, isRenewable: false }

/** Sends a call. A failure is a result; the promise never rejects. */
export type Send = (call: UpstreamCall) => Promise<NodeResult>

/** How a call ended on its node, a streamed file included. `status`: the node has answered the call. */
export interface CallEnd {
  readonly failure?: CallFailure | undefined
  readonly response?: NodeResponse
  readonly status?: number | undefined
}

/** Calls the listener at once, or after the last byte of a streamed file. */
export function onEnd({ authorization }: UpstreamCall, result: NodeResult, listener: (end: CallEnd) => void): void {
  if (!result.ok) {
    // A token has ended: a response of a node that works.
    const isRenewed = result.fault === 'refusedCredentials' && authorization?.isRenewable === true
    listener(isRenewed ? { status: 401 } : { failure: result, status: result.status })
    return
  }
  const { response } = result
  const { status, body } = response
  if (body instanceof Readable) body.once('close', () => listener({ failure: streamFailureOf(body), response, status }))
  else listener({ response, status })
}

/** The error of a streamed file whose call was aborted. */
export class AbortedError extends Error {
  readonly fault: NodeFault

  constructor({ fault, detail }: CallFailure) {
    super(detail)
    this.name = 'AbortedError'
    this.fault = fault
  }
}

/** Returns why a streamed file ended early; `undefined` if it is complete. */
function streamFailureOf({ readableEnded, errored }: Readable): CallFailure | undefined {
  if (readableEnded) return undefined
  if (errored === null) return { fault: 'cancelled', detail: 'client disconnected' }
  if (!(errored instanceof AbortedError)) return { fault: 'unreadable', detail: errored.message }
  return { fault: errored.fault, detail: 'raw file not complete before the deadline' }
}

/** Returns the failure of a call that is not sent. */
export function notSent({ node }: Pick<NodeCall, 'node'>, failure: CallFailure): NodeFailure {
  return { ...failure, ok: false, node, sent: false }
}

/** Whether the asked node may be waiting for another one: which of them is slow, a timeout does not show. */
export function mayWaitForOther({ passedOnTo, mayBePassedOn }: NodeCall): boolean {
  return passedOnTo !== undefined || mayBePassedOn === true
}

/** Retries per call. A failing node receives at most 1.1 times its normal load. */
const RETRIES_PER_CALL = 0.1
/** Least number of retries that a full budget holds. */
const MIN_RETRIES = 10

interface AttemptsOptions {
  /** Returns `undefined` while the node has no limit of calls per minute. */
  readonly budget: () => CallBudget | undefined
  readonly limits: () => { readonly inFlight: number }
  /** Whether responses of the node show that it refuses calls. */
  readonly showsProblems: () => boolean
  /** Sends the call once. */
  readonly transport: { readonly send: Send }
  /** Monotonic milliseconds. */
  readonly clock: () => number
}

export class Attempts {
  readonly #options: AttemptsOptions
  /** The budget of retries, a token bucket. It starts full, for the moment in which a node closes all idle connections. */
  #retries = Number.POSITIVE_INFINITY

  constructor(options: AttemptsOptions) {
    this.#options = options
  }

  /** Sends a call once again if it is retryable and the first attempt failed before a response began. */
  async sendRetryable(call: UpstreamCall): Promise<NodeResult> {
    const max = Math.max(MIN_RETRIES, this.#options.limits().inFlight)
    this.#retries = Math.min(max, this.#retries + RETRIES_PER_CALL)
    const first = await this.#sendTraced(call.retryable ? call : { ...call, connection: 'new' })
    if (first.ok || !call.retryable || first.retryable === undefined || this.#retries < 1) return first
    this.#retries -= 1
    const second = await this.#sendTraced({ ...call, connection: 'new', resend: 1 })
    // The budget of the node does not permit the retry.
    if (!second.ok && second.fault === 'overloaded') return first
    return second.ok ? second : { ...second, sent: first.sent || second.sent }
  }

  /** Runs one attempt in a child span, which the node receives as its parent. */
  async #sendTraced(call: UpstreamCall): Promise<NodeResult> {
    const { trace, method, node, resend } = call
    if (!trace?.recorded) return this.sendOnce(call)
    const span = trace.startCallSpan({ method, route: routeOf(call), node, ...(resend !== undefined && { resend }) })
    const result = await this.sendOnce({ ...call, trace: span })
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
  readonly sendOnce: Send = async (call) => {
    const { showsProblems, transport, clock } = this.#options
    const budget = this.#options.budget()
    if (budget === undefined && !showsProblems()) return transport.send(call)
    const unpaid = await budget?.pay(call.priority)
    if (unpaid !== undefined) return notSent(call, unpaid)
    const start = clock()
    const result = await transport.send(call)
    if (!result.ok) return result
    const { node, status, type, body } = result.response
    const problem = problemOf(result.response, node)
    if (problem !== 'tooManyRequests') budget?.recordAnswer(clock() - start)
    if (problem === undefined || problem === 'hanging') return result
    if (body instanceof Readable) body.destroy()
    const tooMany = () => {
      const retryAfter = budget?.recordRefusal() ?? UNKNOWN_WAIT_SECONDS
      return { fault: 'overloaded', detail: 'too many requests', status, retryAfter } as const
    }
    const refusal = problem === 'addressBlocked' ? BLOCKED : tooMany()
    return notSent(call, type === PROBLEM_TYPE ? { ...refusal, layout: 'newer' } : refusal)
  }
}

/** Returns the route template of a call, without the method. */
export function routeOf({ endpoint }: Pick<NodeCall, 'endpoint'>): string {
  return endpoint.slice(endpoint.indexOf(' ') + 1)
}
