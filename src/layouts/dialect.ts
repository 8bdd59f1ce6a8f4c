/**
 * A dialect sends a request of a contract to a node of a layout, and reads the response; `upstream/dialects.ts` has the table
 * of all. Calls are made of the parsed values of a request; no bytes of the client's request are copied. Here is what dialects
 * share.
 */
import type { CancelSignal } from '../core/cancellation.ts'
import { jsonInTurns } from '../core/long-values.ts'
import type {
  CallNode,
  ClusterView,
  NamedRead,
  NodeCall,
  NodeFailure,
  NodeResponse,
  NodeResult,
  PassedOnTo,
} from '../core/node-call.ts'
import type { EdgeRequest } from '../core/request.ts'
import type { EdgeResponse, NodeOrigin } from '../core/response.ts'
import { withTimeout } from '../core/timing.ts'
import { type Mutable, ownField } from '../core/values.ts'
import { bodyOf, layoutRules, versionIn } from './layout-rules.ts'

/** A node that may answer a request, and what is asked of it. */
export interface Candidate {
  readonly node: string
  /** The path template for this node, filled from the path parameters of the request. */
  readonly path: string
  /** Used only if the API process of the first candidate, the node that the request is about, is not reachable. */
  readonly isDetour?: true
  /**
   * A worker of the v4 layout, which asks the master itself. Used only if the API process of the master is not reachable
   * or hangs.
   */
  readonly replacesMaster?: true
  /** A worker that answers from its own copy while the master has no free slot. The master follows as a candidate. */
  readonly relievesMaster?: true
  /** Mode `manager` of the v3 layout: the node may pass the request on to another one, which may be the late one. */
  readonly mayBePassedOn?: true
}

export interface Dialect {
  /**
   * Asks the node of the candidate, with as many calls as its layout needs. Throws an `EdgeError` for a request that must
   * not be sent.
   */
  ask(request: EdgeRequest, candidate: Candidate, tools: DialectTools): Promise<DialectResult>
}

/** Answers a call that is this read of the v4 contract. */
export type ShareRead = (call: NodeCall, read: NamedRead) => Promise<NodeResult>

export interface DialectTools {
  readonly call: CallNode
  /** As `call`, for reads whose responses may be stored ones. Absent: all are sent. */
  readonly read?: ShareRead | undefined
  /** Milliseconds for all calls together; `undefined`: no limit. */
  readonly timeout: number | undefined
  readonly master: string
  readonly view: Pick<ClusterView, 'nodes' | 'releaseOf' | 'versions' | 'waitForReads'>
  /** Calls that a node answers in a minute, of all clients; 0: no limit. Absent: the default of its layout. */
  readonly perMinute?: number | undefined
  /** Agents of a collection that the edge reads in the background (`cluster.limits.agentsPerCollection`). Absent: all. */
  readonly agentsPerCollection?: number | undefined
  /** What the v4 contract does better than the bare API (`cluster.guards`). Absent: nothing. */
  readonly guards?: CallGuards | undefined
  /** For plans that wait for the node. Absent: {@link pause}. */
  readonly pause?: typeof pause | undefined
}

/** Resolves after the time in milliseconds. With a signal, rejects with its reason as soon as it is aborted. */
export function pause(ms: number, signal?: CancelSignal): Promise<void> {
  return withTimeout(new Promise<never>(() => undefined), ms, undefined, signal)
}

interface CallGuards {
  readonly nodeCache: boolean
  readonly agentsWithoutData: boolean
  readonly lostNodes: boolean
}

/** The (last) response of the node, if it was asked, and its translation; or the failure of a call. */
export type DialectResult = Answer | NodeFailure

export interface Answer {
  readonly ok: true
  readonly response?: NodeResponse
  readonly translated: TranslatedResponse
}

/** `reason`: why the body of a response is not one of the API. */
export type TranslatedResponse =
  | { readonly ok: true; readonly response: EdgeResponse }
  | { readonly ok: false; readonly reason: string }

/** What a dialect decides about a call. `endpoint`: method and path template. `timeout` in milliseconds. */
interface DialectCall extends Pick<NodeCall, 'node' | 'method' | 'path' | 'expect' | 'endpoint' | 'reportsLostNodes'> {
  readonly body?: NodeCall['body'] | undefined
  readonly mayBePassedOn?: true | undefined
  readonly timeout: number | undefined
  readonly passedOnTo?: PassedOnTo | undefined
}

/** Adds what all calls for the request have in common. */
export function createNodeCall(request: EdgeRequest, call: DialectCall): NodeCall {
  const { node, method, path, expect, endpoint, body, timeout, passedOnTo } = call
  const retryable = method === 'GET'
  const agentData = agentDataOf(request, endpoint)
  const { client, caller, requestId, priority, trace } = request
  const { signal, presence, flow } = client
  const { credentials, nodeToken } = caller
  const made: Mutable<NodeCall> = {
    node,
    method,
    path,
    expect,
    endpoint,
    retryable,
    signal,
    requestId,
    priority,
    caller: caller.name,
  }
  // One by one: to spread an object for each takes several times as long.
  if (body !== undefined) made.body = body
  if (call.mayBePassedOn) made.mayBePassedOn = true
  if (call.reportsLostNodes) made.reportsLostNodes = true
  if (agentData !== undefined) made.agentData = agentData
  if (passedOnTo !== undefined) made.passedOnTo = passedOnTo
  if (timeout !== undefined) made.timeout = timeout
  if (presence !== undefined) made.presence = presence
  if (client.isShared) made.isShared = true
  if (flow !== undefined) made.flow = flow
  if (trace !== undefined) made.trace = trace
  if (credentials !== undefined) made.credentials = credentials
  if (nodeToken !== undefined) made.token = nodeToken
  return made
}

/** Returns the agent whose database the call reads. What the manager itself knows of agents is in the group `agents`. */
function agentDataOf({ endpoint, params }: EdgeRequest, path: string): string | undefined {
  if (endpoint.method !== 'GET' || !('group' in endpoint.cache) || endpoint.cache.group === 'agents') return undefined
  return path.includes('/:agent_id') ? params.agent_id : undefined
}

/** A read whose response the dialect needs for the call of a request. `endpoint`: the path template. */
interface NeededRead extends Pick<DialectCall, 'node' | 'path' | 'timeout'> {
  readonly endpoint: string
}

export function createNeededRead(request: EdgeRequest, { endpoint, ...read }: NeededRead): NodeCall {
  return createNodeCall(request, { ...read, method: 'GET', expect: 'bytes', endpoint: `GET ${endpoint}` })
}

/** Nodes accept the media type without parameters only. Returns without a promise for a request without a body. */
export function formatBody(request: EdgeRequest): NodeCall['body'] | Promise<NodeCall['body']> {
  if (request.kind === 'read' || request.body.kind === 'none') return undefined
  const { body } = request
  if (body.kind === 'upload') return { type: body.type, bytes: body.bytes }
  return jsonInTurns(body.fields).then((bytes) => ({ type: 'application/json', bytes }))
}

/** Reads the version that a node shows now; `undefined`: it shows none. */
export async function readVersion(
  request: EdgeRequest,
  node: string,
  { call, timeout, view }: Pick<DialectTools, 'call' | 'timeout'> & { readonly view: Pick<ClusterView, 'versions'> },
): Promise<string | undefined> {
  const { versionPath: path } = layoutRules.v4
  const result = await call(createNeededRead(request, { node, path, endpoint: path, timeout }))
  const version = result.ok ? versionIn(result.response, 'v4') : undefined
  if (version !== undefined) view.versions.note(node, version)
  return version
}

/** Returns the `data` of a read that succeeded; `undefined` for every other result. */
export function dataIn(result: NodeResult): unknown {
  return result.ok && result.response.status === 200 ? ownField(bodyOf(result.response), 'data') : undefined
}

export const OF_NODE: NodeOrigin = {
  kind: 'node',
  isPersonal: false,
  age: 0,
  rows: undefined,
  namesFailedNodes: false,
  isProblem: false,
}
