/** What differs by kind of cluster, as one object, and the candidates of which the three kinds choose. */
import { EdgeError } from '../../core/errors.ts'
import type { ClusterView, NodeInfo } from '../../core/node-call.ts'
import type { CopyState, EdgeRequest } from '../../core/request.ts'

export interface Candidate {
  readonly node: string
  /** The path template for this node, filled from the path parameters of the request. */
  readonly path: string
  /** Used only if the API process of the first candidate, the node that the request is about, is not reachable. */
  readonly isDetour?: true
  /**
   * A worker of the newer layout, which asks the master itself. Used only if the API process of the master is not reachable
   * or hangs.
   */
  readonly replacesMaster?: true
  /** A worker that answers from its own copy while the master has no free slot. The master follows as a candidate. */
  readonly relievesMaster?: true
  /** Mode `manager` of the classic layout: the node may pass the request on to another one, which may be the late one. */
  readonly mayBePassedOn?: true
}

/** Returns at least one candidate. Throws 3022 for an unknown node and 924 for a node without address. */
export type Router = (request: EdgeRequest, view: ClusterView) => readonly Candidate[]

export interface ClusterKind {
  /** `manager` and `edge`: the mode of the classic layout. */
  readonly name: 'manager' | 'edge' | 'newer'
  /** The nodes that can answer a request, in order of preference. */
  readonly route: Router
  /** Returns the node that is asked first, whatever the request is; absent: the request decides. */
  readonly firstNode?: (view: ClusterView) => string
  /** Returns the version that clients must have been made for; `undefined`: any. */
  readonly clientVersion: (view: ClusterView) => string | undefined
  /** Rows that one call returns at most, and whether the master returns those of all agents. */
  readonly reads: { readonly rowsPerCall: number; readonly joinsAgents: boolean }
}

/** All candidates share one deadline, so there are few. */
export const MAX_FALLBACKS = 2

export function createNoNodeError(path: string): EdgeError {
  return new EdgeError(949, '', { cause: new Error(`${path} has no single node`) })
}

/** `workerPath`: the path on a worker that replaces the master; `undefined`: no worker may. */
export function masterFirst(
  request: EdgeRequest,
  view: ClusterView,
  workerPath: string | undefined,
): readonly [Candidate, ...Candidate[]] {
  const first = { node: view.master().name, path: request.endpoint.path }
  if (workerPath === undefined) return [first]
  const workers = workersInTurn(request, view).slice(0, MAX_FALLBACKS)
  return [first, ...workers.map(({ name }) => ({ node: name, path: workerPath }))]
}

/**
 * Every node answers from its own copy. While the master has no free slot and a worker has one, the worker is the first
 * candidate if its copy is certainly current: its answer costs the master nothing. A request without a time limit goes to
 * the master, because the worker could keep it forever. A read that a worker would hand on to the master gets no such
 * candidate, because it costs the master as much as before, and the worker too.
 */
export function freeNodeFirst(request: EdgeRequest, view: ClusterView): readonly Candidate[] {
  const { path } = request.endpoint
  const copies = copiesOf(request)
  if (copies === 'lagging') return masterFirst(request, view, undefined)
  const candidates = masterFirst(request, view, path)
  if (copies !== 'current' || request.waitForComplete || view.freeSlots(view.master().name) > 0) return candidates
  const connected = workersInTurn(request, view).filter(({ isDisconnected }) => isDisconnected !== true)
  const free = connected.find(({ name }) => view.freeSlots(name) > 0)?.name
  if (free === undefined) return candidates
  return [{ node: free, path, relievesMaster: true }, ...candidates.filter(({ node }) => node !== free)]
}

export function copiesOf(request: EdgeRequest): CopyState {
  return request.kind === 'read' ? request.copies : 'unknown'
}

/** The available workers. Requests start with different ones, so that the load of a failed node spreads over all. */
export function workersInTurn({ requestId }: EdgeRequest, view: ClusterView): readonly NodeInfo[] {
  const workers = view.nodes().filter(({ type, name }) => type === 'worker' && isReachable(name, view))
  const sum = [...requestId].reduce((total, char) => total + char.charCodeAt(0), 0)
  const start = sum % Math.max(1, workers.length)
  return [...workers.slice(start), ...workers.slice(0, start)]
}

export function isReachable(name: string, view: ClusterView): boolean {
  return view.find(name)?.addressed === true && view.isAvailable(name)
}

/** The named node is the only candidate. */
export function onNode(name: string | undefined, path: string, view: ClusterView): readonly Candidate[] {
  const node = findNode(name, view)
  if (!node.addressed) throw new EdgeError(924, ` (${node.name}: it has no address in cluster.nodes)`)
  return [{ node: node.name, path }]
}

export function nodeParamOf({ params }: EdgeRequest): string | undefined {
  return Object.hasOwn(params, 'node_id') ? params.node_id : undefined
}

export function findNode(name: string | undefined, view: ClusterView): NodeInfo {
  const node = name === undefined ? undefined : view.find(name)
  if (node === undefined) throw new EdgeError(3022)
  return node
}
