import { Readable } from 'node:stream'
import type { NodeCall, NodeFault } from '../core/node-call.ts'
import type { Span } from '../core/trace.ts'
import type { Outcome } from './exchange.ts'

/** What a trace shows of a call: the waiting in line for the node, and each time that it goes out on the wire. */

/** Gives what ends it; `fault`: why the call never went out. */
export function spanOfWaiting({ trace, node }: NodeCall): (fault?: NodeFault) => void {
  const span = trace?.recorded ? trace.startSpan('wait', { node }) : undefined
  return (fault) => span?.end(fault === undefined ? {} : { fault })
}

/** One attempt, whose span the node is told as its parent. `resend`: how often it went out before. */
export async function spanOfAttempt(
  call: NodeCall,
  resend: number,
  attempt: (call: NodeCall) => Promise<Outcome>,
): Promise<Outcome> {
  const { trace, method, node } = call
  if (!trace?.recorded) return attempt(call)
  const again = resend > 0 ? { resend } : {}
  const span = trace.startCallSpan({ method, route: routeOf(call), node, ...again })
  const outcome = await attempt({ ...call, trace: span })
  endWith(span, outcome)
  return outcome
}

/** The template without its method. */
export function routeOf({ endpoint }: Pick<NodeCall, 'endpoint'>): string {
  return endpoint.slice(endpoint.indexOf(' ') + 1)
}

/** A file is over with its last byte. */
function endWith(span: Span, outcome: Outcome): void {
  if (!outcome.ok) {
    span.end({ fault: outcome.failure.fault })
    return
  }
  const { status, body } = outcome.reply
  if (body instanceof Readable) {
    body.once('close', () => span.end({ status, ...(!body.readableEnded && { fault: 'cancelled' as const }) }))
  } else span.end({ status })
}

/**
 * Repeats are at most a tenth of the calls, so that a node in trouble never sees more than 1.1 times its load.
 * A few are saved up, for the moment in which all idle connections are closed at once.
 */
const SHARE = 0.1

export class RetryBudget {
  readonly #most: number
  #saved: number

  constructor(most: number) {
    this.#most = most
    this.#saved = most
  }

  called(): void {
    this.#saved = Math.min(this.#most, this.#saved + SHARE)
  }

  /** Gives true when one more repeat is allowed, and counts it. */
  take(): boolean {
    if (this.#saved < 1) return false
    this.#saved -= 1
    return true
  }
}
