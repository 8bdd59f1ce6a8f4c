/**
 * The place through which everything passes that is sent to a node: first attempts, retries, logins. Each attempt is
 * counted in the budget of the node.
 */
import { Readable } from 'node:stream'
import type { CallBudget } from './budget.ts'
import type { Transport } from './transport.ts'

const TOO_MANY_REQUESTS = 429

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
    const { status, body } = result.response
    if (status !== TOO_MANY_REQUESTS) {
      budget.recordAnswer(sentAt)
      return result
    }
    if (body instanceof Readable) body.destroy()
    // A node that refuses a call has not acted on it.
    const failure = {
      fault: 'overloaded',
      detail: 'too many requests',
      status,
      retryAfter: budget.recordRefusal(),
    } as const
    return { ok: false, failure, sent: false }
  }
}
