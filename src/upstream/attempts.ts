/** The retry of a read, and each attempt of a call: its span, the budget of calls per minute, and what its response shows. */
import { Readable } from 'node:stream'
import { isRelease5, type NodeResult } from '../core/node-call.ts'
import { PROBLEM_TYPE } from '../core/origins.ts'
import type { Trace } from '../core/trace.ts'
import { versionIn } from '../layouts/layout-rules.ts'
import { copyWith, notSent, routeOf, type Send, type UpstreamCall } from './call.ts'
import { UNKNOWN_WAIT_SECONDS } from './call-budget.ts'
import type { Layer, StackParts } from './layer.ts'
import { problemOf } from './node-problems.ts'
import { BLOCKED } from './node-response.ts'

/** Retries per call. A failing node receives at most 1.1 times its normal load. */
const RETRIES_PER_CALL = 0.1
const ON_NEW = { connection: 'new' } as const
/** Least number of retries that a full budget holds. */
const MIN_RETRIES = 10

/**
 * Sends a read once again, on a new connection, if the first attempt failed before a response began. A connection of the
 * pool may have been closed by the node, so a read on one reserves its retry. Without a retry left, a read begins on a new
 * connection.
 */
export const retryOnce =
  ({ limits }: StackParts): Layer =>
  (next) => {
    // The budget of retries, a token bucket. It starts full, for the moment in which a node closes all idle connections.
    let retries = Number.POSITIVE_INFINITY
    let reserved = 0
    return async (call) => {
      retries = Math.min(Math.max(MIN_RETRIES, limits().inFlight), retries + RETRIES_PER_CALL)
      if (!call.retryable || retries - reserved < 1) return next(copyWith(call, ON_NEW))
      reserved += 1
      const first = await next(call)
      reserved -= 1
      if (first.ok || first.retryable === undefined) return first
      retries -= 1
      const second = await next(copyWith(call, { ...ON_NEW, resend: 1 }))
      // The budget of the node does not permit the retry.
      if (!second.ok && second.fault === 'overloaded') return first
      return second.ok ? second : { ...second, sent: first.sent || second.sent }
    }
  }

/** Runs one attempt in a child span, which the node receives as its parent. */
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

const LOGIN = /^POST \/security\/user\/authenticate/
const LOGINS_BLOCKED = { fault: 'loginsBlocked', reason: 'tooManyFailedLogins', retryAfter: 300 } as const

/** Release 5.0 blocks the logins of an address, and answers its other calls. */
function blockOf({ endpoint }: UpstreamCall, release: string | undefined, status: number) {
  return isRelease5(release) && LOGIN.test(endpoint) ? { ...LOGINS_BLOCKED, status } : BLOCKED
}

/** The node has refused too many tokens in this minute to say so of this one, which has ended as well. */
const ENDED = { fault: 'refusedCredentials', reason: 'status', about: 429 } as const

/**
 * Makes one attempt. Everything that is sent to the node, retries, logins and probes included, counts in its budget of calls
 * per minute.
 */
export const attempt =
  ({ budget: budgetInUse, rules, clock, onVersion, release }: StackParts): Layer =>
  (next) => {
    const sendCounted = async (call: UpstreamCall): Promise<NodeResult> => {
      const budget = budgetInUse()
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
      if (problem !== 'tooManyRequests') budget?.shared.recordAnswer(clock() - start)
      if (problem === undefined || problem === 'hanging') return result
      if (body instanceof Readable) body.destroy()
      if (problem === 'tooManyUnauthenticated' && call.authorization?.isRenewable) return notSent(call, ENDED)
      const tooMany = () => {
        const isOfAll = problem === 'tooManyRequests'
        const retryAfter = (isOfAll ? budget?.recordRefusal() : undefined) ?? UNKNOWN_WAIT_SECONDS
        return { fault: 'overloaded', reason: 'tooManyRequests', status, retryAfter } as const
      }
      const refusal = problem === 'addressBlocked' ? blockOf(call, release(), status) : tooMany()
      return notSent(call, type === PROBLEM_TYPE ? { ...refusal, layout: 'v4' } : refusal)
    }
    return (call) => {
      const send = rules().showsProblems || budgetInUse() !== undefined ? sendCounted : next
      return call.trace?.recorded ? sendInSpan(call, call.trace, send) : send(call)
    }
  }
