/** The nodes that can answer a request, called in order: when the next one is called, and what the failure of all means. */
import { errorNumberOf } from '../core/envelope.ts'
import { isNotReadyError } from '../core/error-meanings.ts'
import { EdgeError } from '../core/errors.ts'
import { type ClusterView, isRelease5, type Layout, type NodeFailure } from '../core/node-call.ts'
import { describeFailure, errorCodeOf, faultRules } from '../core/node-faults.ts'
import { AbandonedError } from '../core/presence.ts'
import { actsAsItself, type EdgeRequest } from '../core/request.ts'
import { type TimeLimits, timeLimitOf } from '../core/timing.ts'
import { traceSync } from '../core/traced.ts'
import type { Answer, Candidate, DialectResult, DialectTools } from '../layouts/dialect.ts'
import { layoutRules } from '../layouts/layout-rules.ts'
import { NO_MASTER, UNKNOWN_NODE } from '../layouts/v4/content.ts'
import { dialects, layoutsBeforeRecognition } from './dialects.ts'
import type { KindOf } from './kinds.ts'
import { isBulkRead } from './routers.ts'

export interface CandidateOptions extends Pick<DialectTools, 'guards' | 'pause'> {
  readonly view: ClusterView
  readonly kindOf: KindOf
  /** The time limits are for all candidates together. */
  readonly limits: () => TimeLimits & Pick<DialectTools, 'perMinute' | 'agentsPerCollection'>
}

/**
 * Calls the candidates in order until one responds. If none does, throws the error of the first one that does not relieve the
 * master. `latest`: the end of its time limit, of `performance.now()`.
 */
export async function callCandidates(
  options: CandidateOptions,
  calls: Pick<DialectTools, 'call' | 'read'>,
  request: EdgeRequest,
  latest = performance.now() + timeLimitOf(request, options.limits()),
): Promise<Answer> {
  const { view, guards, pause } = options
  const { call, read } = calls
  const limits = options.limits()
  const deadline = request.kind === 'read' ? Math.min(latest, request.deadline) : latest
  let first: NodeFailure | undefined
  for (const candidate of traceSync(request.trace, 'route', candidatesOf, request, options)) {
    const remaining = deadline - performance.now()
    if (first !== undefined && remaining <= 0 && !request.waitForComplete) break
    if (first !== undefined && !mayFollow(first, candidate, request)) break
    // A worker that hangs must leave time for the master.
    const time = candidate.relievesMaster ? remaining / 2 : remaining
    const timeout = request.waitForComplete ? undefined : time
    // Written out: to spread options and limits for each call takes several times as long.
    const { perMinute, agentsPerCollection } = limits
    const tools = {
      call,
      view,
      guards,
      pause,
      perMinute,
      agentsPerCollection,
      timeout,
      master: view.master().name,
      read,
    }
    let result: DialectResult
    try {
      result = await askCandidate(request, candidate, view, tools)
    } catch (error) {
      if (isWithOthers(error, request, candidate, options)) return callCandidates(options, calls, request, latest)
      throw error
    }
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
function isWithOthers(error: unknown, request: EdgeRequest, { node }: Candidate, options: CandidateOptions): boolean {
  const isLacking = error instanceof EdgeError && (error.code === 603 || error.code === 938)
  if (request.kind !== 'read' || !isLacking) return false
  return isRelease5(options.view.releaseOf(node)) && candidatesOf(request, options)[0]?.node !== node
}

/** A token of the caller is good at its node only. */
function candidatesOf(request: EdgeRequest, { view, kindOf }: CandidateOptions): readonly Candidate[] {
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
  const layout = view.layoutOf(node) ?? layoutsBeforeRecognition[contract]
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
 * the request on to it. A bulk read that a node at its limit rejects is left to the client: the slots of the workers are for
 * others, and nodes on one machine slow each other down.
 */
function mayFollow({ fault, lastFault }: NodeFailure, candidate: Candidate, request: EdgeRequest): boolean {
  const { isDetour, replacesMaster } = candidate
  if (fault === 'overloaded' && isBulkRead(request)) return false
  if (fault === 'drained' || fault === 'overloaded') {
    return request.endpoint.target.kind === 'anyNode' && !isDetour && !replacesMaster
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
export function errorOf(failure: NodeFailure, request: EdgeRequest): unknown {
  const { endpoint, caller, client } = request
  const isAborted = failure.fault === 'abandoned' && client.signal.aborted
  if (isAborted || failure.fault === 'cancelled') return client.signal.reason ?? new EdgeError(949, ' (call cancelled)')
  const Failure = failure.fault === 'abandoned' ? AbandonedError : EdgeError
  const { node, retryAfter } = failure
  const headers = retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }
  const code = errorCodeOf(failure, { isRead: endpoint.method === 'GET', ofCaller: actsAsItself(caller) })
  return new Failure(code, ` (${node}: ${describeFailure(failure)})`, { headers, cause: failure })
}
