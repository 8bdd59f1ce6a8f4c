/** What a failed call means to the client. */
import { EdgeError, type ErrorCode } from '../core/errors.ts'
import type { NodeResult } from '../core/node-call.ts'
import type { EdgeRequest } from '../core/request.ts'

export type Failed = Extract<NodeResult, { ok: false }>

/** A read may be asked of another node while nothing has answered; a write only when no node has seen any of it. */
export function mayMoveOn({ fault, sent }: Failed, ask: EdgeRequest): boolean {
  if (fault !== 'unreachable' && fault !== 'ejected' && fault !== 'overloaded') return false
  return ask.endpoint.method === 'GET' || !sent
}

/** Names the node. A client that has left gets the reason of its own signal. */
export function nodeFault(failed: Failed, ask: EdgeRequest): unknown {
  if (failed.fault === 'cancelled') return ask.signal.reason ?? new EdgeError(949, ' (call cancelled)')
  const { node, detail, retryAfter } = failed
  const headers = retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }
  return new EdgeError(codeOf(failed, ask), ` (${node}: ${detail})`, { headers, cause: failed })
}

function codeOf({ fault, sent }: Failed, ask: EdgeRequest): ErrorCode {
  // The node may have carried it out: the client must know that, and nobody may send it again.
  const unknownOutcome = sent && ask.endpoint.method !== 'GET'
  switch (fault) {
    case 'ejected':
      return 920
    case 'overloaded':
      return 921
    case 'timeout':
      return unknownOutcome ? 923 : 922
    case 'unreachable':
      return unknownOutcome ? 928 : 924
    case 'unreadable':
      return unknownOutcome ? 928 : 925
    case 'tooLarge':
      return unknownOutcome ? 928 : 926
    case 'refusedCredentials':
      // With passthrough they are the caller's own, and only the node can tell that they are wrong.
      return ask.caller.credentials === undefined ? 927 : 901
    case 'cancelled':
      return 949
  }
}
