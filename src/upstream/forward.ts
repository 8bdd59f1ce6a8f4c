import { Readable } from 'node:stream'
import { readEnvelope } from '../core/envelope.ts'
import { EdgeError, type ErrorCode } from '../core/errors.ts'
import type { CallNode, ClusterView, NodeResponse, NodeResult } from '../core/node-call.ts'
import type { EdgeRequest, Handler } from '../core/request.ts'
import type { EdgeResponse } from '../core/response.ts'
import { traceSync } from '../core/trace.ts'
import { nodeCall } from './dialects/classic.ts'
import type { Router } from './route.ts'

/** The innermost stage: one node answers. Its bytes go out as they came, after a look at their envelope. */

export interface ForwardPorts {
  readonly call: CallNode
  readonly view: ClusterView
  readonly route: Router
  /** Milliseconds for all candidates together; `slowTimeout` for records that are slow by nature. */
  readonly timeout: number
  readonly slowTimeout: number
}

/** When one of a caller's calls without a time limit is under way, the next may be tried after so many seconds. */
const PATIENCE = '10'

/** Throws EdgeErrors that name the node: 903, 901, 920–928, 3022. */
export function forward(ports: ForwardPorts): Handler {
  const alone = oneUnlimited()
  return (ask) => {
    const work = async () => answer(await askNodes(ports, ask), ask)
    return ask.waitForComplete ? alone(ask, work) : work()
  }
}

/**
 * A call without a limit may hold a place on a node for minutes, and there are few: one request of a caller at a
 * time, which may have a part on each node.
 */
function oneUnlimited(): <T>(ask: EdgeRequest, work: () => Promise<T>) => Promise<T> {
  const underWay = new Map<string, { readonly requestId: string; calls: number }>()
  return async ({ caller: { name }, requestId }, work) => {
    const mine = underWay.get(name) ?? { requestId, calls: 0 }
    if (mine.requestId !== requestId) {
      throw new EdgeError(903, ' (one wait_for_complete at a time)', { headers: { 'retry-after': PATIENCE } })
    }
    underWay.set(name, mine)
    mine.calls += 1
    try {
      return await work()
    } finally {
      mine.calls -= 1
      if (mine.calls === 0) underWay.delete(name)
    }
  }
}

/** Walks the candidates until one answers. When none does, the error is that of the preferred one. */
async function askNodes(
  { call, view, route, timeout, slowTimeout }: ForwardPorts,
  ask: EdgeRequest,
): Promise<NodeResponse> {
  const most = performance.now() + (ask.endpoint.slow === true ? slowTimeout : timeout)
  const until = Math.min(most, ask.deadline ?? most)
  let first: Failed | undefined
  for (const candidate of traceSync(ask.trace, 'route', () => route(ask, view))) {
    const left = until - performance.now()
    if (first !== undefined && left <= 0 && !ask.waitForComplete) break
    const result = await call(nodeCall(ask, candidate, ask.waitForComplete ? undefined : left))
    if (result.ok) return result.response
    if (!mayMoveOn(result, ask)) throw nodeFault(result, ask)
    first ??= result
  }
  throw first === undefined ? new EdgeError(920) : nodeFault(first, ask)
}

function answer({ node, status, type, length, personal, body }: NodeResponse, ask: EdgeRequest): EdgeResponse {
  if (body instanceof Readable) {
    return { kind: 'raw', status, type, ...(length !== undefined && { length }), stream: body }
  }
  const envelope = readEnvelope(body)
  if (!envelope.ok) throw nodeFault({ ok: false, node, fault: 'unreadable', sent: true, detail: envelope.reason }, ask)
  return { kind: 'json', status, body, ...(personal && { personal }) }
}

/** What a failed call means to the client. */

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
