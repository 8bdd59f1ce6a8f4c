/**
 * The place through which everything passes that is sent to a node: first attempts, retries, logins. Each attempt is
 * counted in the budget of the node.
 */
import { Readable } from 'node:stream'
import type { CallBudget } from './budget.ts'
import { problemOf } from './node-problems.ts'
import { BLOCKED, type CallFailure, PROBLEM_TYPE } from './node-response.ts'
import type { Transport } from './transport.ts'

/** Counts all that is sent through a transport of a node. `isNewer`: its layout refuses calls with status 429. */
export function meter(transport: Transport, budget: CallBudget, isNewer: () => boolean): Transport {
  return {
    ...transport,
    attempt: (call, deadline, connection) => {
      if (budget.isOff && !isNewer()) return transport.attempt(call, deadline, connection)
      return attemptWithin(call, deadline, connection)
    },
  }

  async function attemptWithin(...args: Parameters<Transport['attempt']>): ReturnType<Transport['attempt']> {
    const [{ priority }] = args
    const unpaid = budget.isOff ? undefined : await budget.pay(priority)
    if (unpaid !== undefined) return { ok: false, failure: unpaid, sent: false }
    const sentAt = budget.now()
    const result = await transport.attempt(...args)
    if (!result.ok) return result
    const { node, status, type, body } = result.response
    const problem = problemOf(result.response, node)
    if (problem !== 'tooManyRequests') budget.recordAnswer(sentAt)
    if (problem === undefined || problem === 'hanging') return result
    if (body instanceof Readable) body.destroy()
    const refusal: CallFailure =
      problem === 'addressBlocked'
        ? BLOCKED
        : { fault: 'overloaded', detail: 'too many requests', status, retryAfter: budget.recordRefusal() }
    const failure = type === PROBLEM_TYPE ? { ...refusal, layout: 'newer' as const } : refusal
    // A node that refuses a call has not acted on it.
    return { ok: false, failure, sent: false }
  }
}
