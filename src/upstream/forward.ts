/** The innermost handler: sends a request to one node and returns its response, or the error of the failed call. */

import { errorNumberOf, isNotReadyError } from '../core/envelope.ts'
import { EdgeError } from '../core/errors.ts'
import {
  type CallNode,
  type ClusterView,
  isRelease5,
  type Layout,
  type NodeCall,
  type NodeFailure,
  type NodeResponse,
  type NodeResult,
} from '../core/node-call.ts'
import { describeFailure, errorCodeOf, faultRules } from '../core/node-faults.ts'
import { AbandonedError } from '../core/presence.ts'
import { actsAsItself, type EdgeRequest, type Handler, type LateAnswer } from '../core/request.ts'
import type { EdgeResponse } from '../core/response.ts'
import { type TimeLimits, timeLimitOf } from '../core/timing.ts'
import { traceSync } from '../core/traced.ts'
import type { Answer, Candidate, DialectResult, DialectTools, ShareRead } from '../layouts/dialect.ts'
import { layoutRules } from '../layouts/layout-rules.ts'
import { NO_MASTER, UNKNOWN_NODE } from '../layouts/v4/content.ts'
import { isAnsweredByNodeCache } from '../layouts/v4-contract.ts'
import { notSent } from './call.ts'
import { withoutClusterKey } from './cluster-key.ts'
import { dialects } from './dialects.ts'
import type { KindOf } from './kinds.ts'
import type { NodeLimits } from './options.ts'

interface ForwardOptions {
  readonly call: CallNode
  readonly view: ClusterView
  readonly kindOf: KindOf
  /** The time limits are for all candidates together. */
  readonly limits: () => TimeLimits & Pick<NodeLimits, 'perMinute'> & Pick<DialectTools, 'agentsPerCollection'>
  readonly guards?: DialectTools['guards']
  readonly pause?: DialectTools['pause']
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
  const runAlone = limitUnlimitedRequests()
  return (request) => {
    const work = async () => {
      const noted = request.kind === 'read' ? request.late : undefined
      const isAnswered = noted?.late !== undefined
      const shared = isAnswered ? undefined : options.share?.(request)
      if (noted && shared) noted.addAge = shared.addAge
      let age = 0
      const note = (one: NodeCall, result: NodeResult): NodeResult => {
        if (noted === undefined || isAnswered) return result
        noted.calls.push({ call: one, result })
        if (!result.ok && result.fault === 'timeout' && result.late) noted.late = { call: one, ...result.late }
        return result
      }
      const call: CallNode = async (one) => {
        const result = note(one, await (isAnswered ? resultOfNoted(noted, one) : options.call(one)))
        if (result.ok) age = Math.max(age, result.response.age ?? 0)
        return withoutClusterKey(result, one, request, { ...options, call })
      }
      const read: ShareRead | undefined = shared && (async (one, named) => note(one, await shared.call(one, named)))
      const { response, translated } = await callCandidates({ ...options, call }, request, read)
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
    }
    return request.waitForComplete ? runAlone(request, work) : work()
  }
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
 * slots of a node for minutes. The one request may have a call on each node.
 */
function limitUnlimitedRequests(): <T>(request: EdgeRequest, work: () => Promise<T>) => Promise<T> {
  const inFlight = new Map<string, { readonly requestId: string; calls: number }>()
  return async ({ caller: { name }, requestId }, work) => {
    const current = inFlight.get(name) ?? { requestId, calls: 0 }
    if (current.requestId !== requestId) {
      const headers = { 'retry-after': RETRY_AFTER_SECONDS }
      throw new EdgeError(903, ' (one wait_for_complete at a time)', { headers })
    }
    inFlight.set(name, current)
    current.calls += 1
    try {
      return await work()
    } finally {
      current.calls -= 1
      if (current.calls === 0) inFlight.delete(name)
    }
  }
}

/** Calls the candidates in order until one responds. If none does, throws the error of the first candidate. */
async function callCandidates(options: ForwardOptions, request: EdgeRequest, read?: ShareRead): Promise<Answer> {
  const { call, view } = options
  const limits = options.limits()
  const { perMinute, agentsPerCollection } = limits
  const latest = performance.now() + timeLimitOf(request, limits)
  const deadline = request.kind === 'read' ? Math.min(latest, request.deadline) : latest
  let first: NodeFailure | undefined
  for (const candidate of traceSync(request.trace, 'route', () => candidatesOf(request, options))) {
    const remaining = deadline - performance.now()
    if (first !== undefined && remaining <= 0 && !request.waitForComplete) break
    if (first !== undefined && !mayFollow(first, candidate, request)) break
    // A worker that hangs must leave time for the master.
    const time = candidate.relievesMaster ? remaining / 2 : remaining
    const timeout = request.waitForComplete ? undefined : time
    const asking = askCandidate(request, candidate, view, {
      call,
      ...(read !== undefined && { read }),
      timeout,
      master: view.master().name,
      view,
      ...(perMinute !== undefined && { perMinute }),
      ...(agentsPerCollection !== undefined && { agentsPerCollection }),
      ...(options.guards && { guards: options.guards }),
      ...(options.pause && { pause: options.pause }),
    })
    const result = await asking.catch((error: unknown) => {
      if (isWithOthers(error, request, candidate, options)) return undefined
      throw error
    })
    if (result === undefined) return callCandidates(options, request, read)
    if (result.ok) {
      if (isLeftToNext(result, candidate)) continue
      return result
    }
    if (candidate.relievesMaster && result.fault !== 'cancelled' && result.fault !== 'abandoned') continue
    if (!canTryNext(result, request)) throw errorOf(result, request)
    first ??= result
  }
  throw first === undefined ? new EdgeError(920) : errorOf(first, request)
}

/** Whether the answer has shown that the node was upgraded to release 5.0, and nodes of earlier releases have what it lacks. */
function isWithOthers(error: unknown, request: EdgeRequest, { node }: Candidate, options: ForwardOptions): boolean {
  const isLacking = error instanceof EdgeError && (error.code === 603 || error.code === 938)
  if (request.kind !== 'read' || !isLacking) return false
  return isRelease5(options.view.releaseOf?.(node)) && candidatesOf(request, options)[0]?.node !== node
}

/** A token of the caller is good at its node only. */
function candidatesOf(request: EdgeRequest, { view, kindOf }: ForwardOptions): readonly Candidate[] {
  const { caller, endpoint } = request
  const { nodeToken } = caller
  return nodeToken === undefined ? kindOf(view).route(request, view) : [{ node: nodeToken.node, path: endpoint.path }]
}

/**
 * Asks in the dialect of the node's layout. If the response shows that the node was upgraded meanwhile, asks once more in
 * the other dialect. A node whose layout is not known yet is not called, whatever the dialect.
 */
async function askCandidate(
  request: EdgeRequest,
  candidate: Candidate,
  view: ClusterView,
  tools: DialectTools,
): Promise<DialectResult> {
  const { node } = candidate
  const { contract } = request.endpoint
  const layout = view.layoutOf(node) ?? contract
  const started = performance.now()
  const result = await dialects[contract][layout].ask(request, candidate, tools)
  if (view.confirmLayout === undefined || !mayHaveOtherLayout(result, layout, request)) return result
  if (!(await view.confirmLayout(node, layout, result.ok ? undefined : result.layout))) return result
  const timeout = tools.timeout === undefined ? undefined : tools.timeout - (performance.now() - started)
  if (timeout !== undefined && timeout <= 0) return result
  return dialects[contract][view.layoutOf(node) ?? layout].ask(request, candidate, { ...tools, timeout })
}

/**
 * Whether a node of another layout may have answered. A refusal shows the layout, and that the node has not acted on the
 * call, if it is the only one. An unreadable response shows neither. Otherwise a write is not sent
 * again.
 */
function mayHaveOtherLayout(result: DialectResult, used: Layout, { endpoint }: EdgeRequest): boolean {
  const isRead = endpoint.method === 'GET'
  if (!result.ok && result.layout !== undefined) return result.layout !== used && (isRead || layoutRules[used].asksOnce)
  const isUnreadable = result.ok ? !result.translated.ok : result.fault === 'unreadable'
  return isUnreadable && isRead
}

/** A read may go to the next candidate if this one did not respond; a write only if no node received any part of it. */
function canTryNext({ fault, sent }: NodeFailure, { endpoint }: EdgeRequest): boolean {
  return faultRules[fault].isReplaceable && (endpoint.method === 'GET' || !sent)
}

/**
 * Whether the failure of the first candidate is one for which this candidate exists. A drained node may be stopped at any
 * moment, and one at its limit has enough calls: only a node that answers from its own copy replaces it, none that would pass
 * the request on to it.
 */
function mayFollow({ fault, lastFault }: NodeFailure, candidate: Candidate, { endpoint }: EdgeRequest): boolean {
  const { isDetour, replacesMaster } = candidate
  if (fault === 'drained' || fault === 'overloaded') {
    return endpoint.target.kind === 'anyNode' && !isDetour && !replacesMaster
  }
  // A detour is for a node that does not answer at all, in contrast to one that hangs.
  return !isDetour || (fault === 'ejected' ? lastFault : fault) === 'unreachable'
}

/**
 * Whether the next candidate may know better. A detour whose cluster has lost the node: the error of the node itself is
 * more exact. A worker that relieves or replaces the master, but does not answer as a node that is ready.
 */
function isLeftToNext({ translated }: Answer, { isDetour, relievesMaster, replacesMaster }: Candidate): boolean {
  if (!translated.ok) return relievesMaster === true
  const error = errorNumberOf(translated.response)
  if (isDetour) return error === UNKNOWN_NODE
  return (replacesMaster === true && error === NO_MASTER) || (relievesMaster === true && isNotReadyError(error))
}

/** Returns the error of a failed call. If the client disconnected, or its time is over, returns the reason of its signal. */
function errorOf(failure: NodeFailure, request: EdgeRequest): unknown {
  const { endpoint, caller, client } = request
  const isAborted = failure.fault === 'abandoned' && client.signal.aborted
  if (isAborted || failure.fault === 'cancelled') return client.signal.reason ?? new EdgeError(949, ' (call cancelled)')
  const Failure = failure.fault === 'abandoned' ? AbandonedError : EdgeError
  const { node, retryAfter } = failure
  const headers = retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }
  const code = errorCodeOf(failure, { isRead: endpoint.method === 'GET', ofCaller: actsAsItself(caller) })
  return new Failure(code, ` (${node}: ${describeFailure(failure)})`, { headers, cause: failure })
}
