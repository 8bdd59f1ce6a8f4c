/** The attempts of a call that has a slot of its node: retries, spans, and the count of all that is sent. */
import { Readable } from 'node:stream'
import type { NodeCall, NodeResult } from '../core/node-call.ts'
import { PROBLEM_TYPE } from '../core/response.ts'
import { notSent, type Send, type UpstreamCall } from './call.ts'
import type { CallBudget } from './call-budget.ts'
import { BLOCKED, problemOf } from './node-response.ts'

/** Retries per call. A failing node receives at most 1.1 times its normal load. */
const RETRIES_PER_CALL = 0.1
/** Least number of retries that a full budget holds. */
const MIN_RETRIES = 10

interface AttemptsOptions {
  readonly budget: CallBudget
  readonly limits: () => { readonly inFlight: number }
  /** Whether responses of the node show that it refuses calls. */
  readonly showsProblems: () => boolean
  /** Sends the call once. */
  readonly transport: { readonly send: Send }
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
    const { budget, showsProblems, transport } = this.#options
    if (budget.isOff && !showsProblems()) return transport.send(call)
    const unpaid = budget.isOff ? undefined : await budget.pay(call.priority)
    if (unpaid !== undefined) return notSent(call, unpaid)
    const sentAt = budget.now()
    const result = await transport.send(call)
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

/** Returns the route template of a call, without the method. */
export function routeOf({ endpoint }: Pick<NodeCall, 'endpoint'>): string {
  return endpoint.slice(endpoint.indexOf(' ') + 1)
}
