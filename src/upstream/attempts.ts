/** The attempts of one call on its node: the first one, and a retry if it cannot do harm. */
import { Readable } from 'node:stream'
import type { NodeFault } from '../core/errors.ts'
import type { NodeCall } from '../core/node-call.ts'
import type { Deadline } from '../core/timing.ts'
import type { AttemptResult } from './exchange.ts'
import type { AuthorizedCall } from './tokens/authorized-call.ts'
import type { Transport } from './transport.ts'

/** Retries per call. A failing node receives at most 1.1 times its normal load. */
const RETRIES_PER_CALL = 0.1

/** A token bucket of retries. It starts full, for the moment in which a node closes all idle connections at once. */
export class RetryBudget {
  readonly #max: () => number
  #tokens: number

  constructor(max: () => number) {
    this.#max = max
    this.#tokens = max()
  }

  recordCall(): void {
    this.#tokens = Math.min(this.#max(), this.#tokens + RETRIES_PER_CALL)
  }

  /** Takes a token. Returns whether a retry is allowed. */
  take(): boolean {
    if (this.#tokens < 1) return false
    this.#tokens -= 1
    return true
  }
}

/** Sends the call, and once again if it is retryable and the first attempt failed before a response began. */
export async function sendWithRetry(
  call: AuthorizedCall,
  deadline: Deadline,
  { transport, budget }: { readonly transport: Transport; readonly budget: RetryBudget },
): Promise<AttemptResult> {
  const attempt = (resend: number) =>
    traceAttempt(call, resend, (traced) => {
      const connection = resend > 0 || !call.retryable ? 'new' : 'pooled'
      return transport.attempt(traced, deadline, connection)
    })
  budget.recordCall()
  const first = await attempt(0)
  if (first.ok || !call.retryable || first.failure.retryable === undefined || !budget.take()) return first
  const second = await attempt(1)
  // The budget of the node does not permit the retry.
  if (!second.ok && second.failure.fault === 'overloaded') return first
  return second.ok ? second : { ...second, sent: first.sent || second.sent }
}

/** Starts the span of the time in the queue. Returns the function that ends it; `fault`: why the call was not sent. */
export function startQueueSpan({ trace, node }: NodeCall): (fault?: NodeFault) => void {
  const span = trace?.recorded ? trace.startSpan('queue', { node }) : undefined
  return (fault) => span?.end(fault === undefined ? {} : { fault })
}

/** Runs one attempt in a child span, which the node receives as its parent. `resend`: number of the retry. */
async function traceAttempt(
  call: AuthorizedCall,
  resend: number,
  attempt: (call: AuthorizedCall) => Promise<AttemptResult>,
): Promise<AttemptResult> {
  const { trace, method, node } = call
  if (!trace?.recorded) return attempt(call)
  const span = trace.startCallSpan({ method, route: routeOf(call), node, ...(resend > 0 && { resend }) })
  const result = await attempt({ ...call, trace: span })
  if (!result.ok) {
    span.end({ fault: result.failure.fault })
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
export function routeOf({ endpoint }: Pick<NodeCall, 'endpoint'>): string {
  return endpoint.slice(endpoint.indexOf(' ') + 1)
}
