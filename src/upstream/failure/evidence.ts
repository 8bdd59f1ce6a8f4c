/** What the end of a call shows about its node: how healthy it is, and whether it is reached and accepts the credentials. */
import type { NodeCall } from '../../core/node-call.ts'
import { faultRules } from '../../core/node-faults.ts'
import { type CallEnd, mayWaitForOther } from '../call.ts'
import type { CallFailure } from '../node-response.ts'

/**
 * What the end of a call shows about the health of its node. `refused`: the connection was refused. `unreadable`: a sign
 * of bad health only if several endpoints show it. `hang`: the node answered that it cannot carry out calls. `blocked`: the
 * node refuses all calls of this address. `none`: the call is no evidence about the node.
 */
export type HealthSignal = 'success' | 'failure' | 'refused' | 'unreadable' | 'hang' | 'blocked' | 'none'

/** Returns what the failure of a call shows that took `elapsed` milliseconds on the node. */
export function signalOf(call: NodeCall, failure: CallFailure, elapsed: number): HealthSignal {
  // A call that hangs because of another node shows nothing about this one.
  if (mayWaitForOther(call) && (failure.fault === 'timeout' || failure.fault === 'cancelled')) return 'none'
  if (failure.refused) return 'refused'
  const { health } = faultRules[failure.fault]
  if (health !== 'ifSlow') return health
  return isSlow(call, elapsed) ? 'failure' : 'none'
}

/** Whether a call spent half of its timeout on the node, and not in the queue of the edge. */
export function isSlow({ timeout = Number.POSITIVE_INFINITY }: NodeCall, elapsed: number): boolean {
  return elapsed >= timeout / 2
}

/** What the latest call to a node showed, without calls that are no evidence about the node. */
export interface NodeContact {
  readonly calledAt?: number
  readonly credentials?: 'accepted' | 'refused' | undefined
  /** When the first of the latest failures ended; absent after a response. */
  readonly failingSince?: number
}

/** The node answers so before it checks the credentials. */
const TOO_MANY_REQUESTS = 429

/** Returns the contact with a node after the end of a call to it. */
export function contactAfter(
  before: NodeContact,
  signal: HealthSignal,
  { failure, status }: CallEnd,
  now: number,
): NodeContact {
  // A client that disconnected shows nothing.
  if (status === undefined && signal !== 'success')
    return signal === 'none' || failure?.fault === 'cancelled' ? before : failingContact(before, now)
  const isRead = status !== undefined && status < 500 && status !== TOO_MANY_REQUESTS
  const shown = failure?.fault === 'refusedCredentials' ? 'refused' : isRead ? 'accepted' : before.credentials
  return { calledAt: now, credentials: shown }
}

/** Returns the contact with a node that has failed. */
export function failingContact(before: NodeContact, now: number): NodeContact {
  return { ...before, calledAt: now, failingSince: before.failingSince ?? now }
}
