/** The innermost handler: sends a request to one node and returns its response, or the error of the failed call. */
import { EdgeError } from '../core/errors.ts'
import type { CallNode, NodeCall, NodeResponse, NodeResult } from '../core/node-call.ts'
import type { EdgeRequest, Handler, LateAnswer } from '../core/request.ts'
import type { EdgeResponse } from '../core/response.ts'
import type { ShareRead } from '../layouts/dialect.ts'
import { isAnsweredByNodeCache } from '../layouts/v4-contract.ts'
import { notSent } from './call.ts'
import { type CandidateOptions, callCandidates, errorOf } from './candidates.ts'
import { withoutClusterKey } from './cluster-key.ts'

interface ForwardOptions extends CandidateOptions {
  readonly call: CallNode
  /** How the calls of a request are sent that may be answered from stored responses. Absent: all are sent. */
  readonly share?: (request: EdgeRequest) => SharedCalls | undefined
  /** Receives each response to a request for the list of nodes. */
  readonly onNodeList?: (request: EdgeRequest, response: NodeResponse) => void
}

interface SharedCalls {
  readonly call: ShareRead
  /** Returns the response with the age of the stored ones of which it was made. */
  addAge(response: EdgeResponse): EdgeResponse
}

/** Retry-After for a second request without timeout of the same caller. */
const RETRY_AFTER_SECONDS = '10'

/** Throws errors that name the node: 901, 903, 920–928, 3022. */
export function forward(options: ForwardOptions): Handler {
  const enterAlone = limitUnlimitedRequests()
  return async (request) => {
    const leave = request.waitForComplete ? enterAlone(request) : undefined
    try {
      const noted = request.kind === 'read' ? request.late : undefined
      const isAnswered = noted?.late !== undefined
      const shared = isAnswered ? undefined : options.share?.(request)
      if (noted && shared) noted.addAge = shared.addAge
      let age = 0
      const call: CallNode = async (one) => {
        const result = await (isAnswered ? resultOfNoted(noted, one) : options.call(one))
        if (noted && !isAnswered) note(noted, one, result)
        if (result.ok) age = Math.max(age, result.response.age ?? 0)
        return withoutClusterKey(result, one, request, { call, view: options.view })
      }
      const read: ShareRead | undefined =
        shared &&
        (async (one, named) => {
          const result = await shared.call(one, named)
          if (noted) note(noted, one, result)
          return result
        })
      const { response, translated } = await callCandidates(options, { call, read }, request)
      const { endpoint, caller } = request
      if (response !== undefined && endpoint.listsNodes !== undefined) options.onNodeList?.(request, response)
      // An answer to a call with the caller's own token shows that the node accepts the token.
      if (caller.nodeToken && response?.status === 200 && !isAnsweredByNodeCache(endpoint))
        caller.nodeToken.noteAnswer?.()
      if (translated.ok) {
        const answer = age === 0 ? translated.response : withAge(translated.response, age)
        return (noted ?? shared)?.addAge?.(answer) ?? answer
      }
      const node = response?.node ?? ''
      throw errorOf(
        { ok: false, node, fault: 'unreadable', sent: true, reason: 'unreadableBody', about: translated.reason },
        request,
      )
    } finally {
      leave?.()
    }
  }
}

/** Notes a call of a read, and that it is late. */
function note(noted: LateAnswer, call: NodeCall, result: NodeResult): void {
  noted.calls.push({ call, result })
  if (!result.ok && result.fault === 'timeout' && result.late) noted.late = { call, ...result.late }
}

/** Answers a call from the one that was late, or from those before it, and refuses each other one. */
function resultOfNoted({ late, calls }: LateAnswer, call: NodeCall): NodeResult | Promise<NodeResult> {
  const isSame = ({ call: each }: { readonly call: NodeCall }) => each.node === call.node && each.path === call.path
  if (late !== undefined && isSame(late)) return late.result
  return calls.findLast(isSame)?.result ?? notSent(call, { fault: 'ejected', reason: 'notAwaited' })
}

/** Adds the greatest age with which a response of a node arrived, in milliseconds. */
function withAge(response: EdgeResponse, age: number): EdgeResponse {
  if (response.kind === 'file') return response
  const { origin } = response
  if (origin.kind === 'node') return { ...response, origin: { ...origin, age } }
  return 'oldestPartAge' in origin ? { ...response, origin: { ...origin, oldestPartAge: age } } : response
}

/**
 * Limits requests with `wait_for_complete` to one at a time per caller: a call without timeout may occupy one of the few
 * slots of a node for minutes. The one request may have a call on each node. The returned function lets a request enter, and
 * returns the function with which it leaves. Throws 903.
 */
function limitUnlimitedRequests(): (request: EdgeRequest) => () => void {
  const inFlight = new Map<string, { readonly requestId: string; calls: number }>()
  return ({ caller: { name }, requestId }) => {
    const current = inFlight.get(name) ?? { requestId, calls: 0 }
    if (current.requestId !== requestId) {
      const headers = { 'retry-after': RETRY_AFTER_SECONDS }
      throw new EdgeError(903, ' (one wait_for_complete at a time)', { headers })
    }
    inFlight.set(name, current)
    current.calls += 1
    return () => {
      current.calls -= 1
      if (current.calls === 0) inFlight.delete(name)
    }
  }
}
