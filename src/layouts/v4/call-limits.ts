/** How many calls one request may cost its node, whose calls per minute all clients share. */
import { priceOfRead } from '../../core/request.ts'
import { layoutRules } from '../layout-rules.ts'
import type { Conversation } from './conversation.ts'
import { failed } from './reply.ts'

/** Calls that one read may send: half of those of a minute. */
export function maxCallsOf({ tools: { perMinute = layoutRules.v4.perMinute } }: Conversation): number {
  return perMinute === 0 ? Number.POSITIVE_INFINITY : Math.floor(perMinute / 2)
}

/**
 * Calls that this read may cost. No client waits for a complete read of all agents, which may cost half of the calls of a
 * minute.
 */
export function priceOf({ request, tools }: Conversation): number {
  const isComplete = request.kind === 'read' && request.effort === 'complete'
  return isComplete ? Number.POSITIVE_INFINITY : priceOfRead(tools.view.nodes().length)
}

/** Retry-After of a request that needs more calls than the limit: fewer may be enough later. */
const MINUTE_SECONDS = 60

/**
 * Throws `EndedError` if the limit per minute of the node does not permit this number of reads in the remaining time.
 * To be called before a read that needs several calls: without the last one, the others would be wasted.
 */
export function checkRoom({ node, tools, remaining }: Conversation, calls: number): void {
  const wait = tools.view.waitForReads(node, calls)
  if (wait === 0 || (wait <= remaining && Number.isFinite(wait))) return
  const retryAfter = Number.isFinite(wait) ? Math.ceil(wait / 1000) : MINUTE_SECONDS
  throw failed({ ok: false, node, fault: 'overloaded', sent: false, reason: 'noRoom', about: calls, retryAfter })
}
