/**
 * The nodes that can answer a request, in order of preference: in the two modes of the v3 layout, and in the v4 layout.
 */
import type { Endpoint } from '../contracts/endpoint.ts'
import { EdgeError } from '../core/errors.ts'
import type { ClusterView, NodeInfo } from '../core/node-call.ts'
import { type CopyState, type EdgeRequest, onlyNodeOf } from '../core/request.ts'
import type { Candidate } from '../layouts/dialect.ts'

/** Returns at least one candidate. Throws 3022 for an unknown node and 924 for a node without address. */
export type Router = (request: EdgeRequest, view: ClusterView) => readonly Candidate[]

/** All candidates share one deadline, so there are few. */
const MAX_FALLBACKS = 2

function createNoNodeError(path: string): EdgeError {
  return new EdgeError(949, '', { cause: new Error(`${path} has no single node`) })
}

/** `workerPath`: the path on a worker that replaces the master; `undefined`: no worker may. */
function masterFirst(
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
 * the master, because the worker could keep it forever. A bulk read waits for the master: the workers' slots are left to
 * others, whose calls would be slow beside bulk on every node. A read that a worker would hand on to the master gets no such
 * candidate, because it costs the master as much as before, and the worker too.
 */
function freeNodeFirst(request: EdgeRequest, view: ClusterView): readonly Candidate[] {
  const { path } = request.endpoint
  const copies = copiesOf(request)
  if (copies === 'lagging') return masterFirst(request, view, undefined)
  const candidates = masterFirst(request, view, path)
  if (copies !== 'current' || request.waitForComplete || view.freeSlots(view.master().name) > 0) return candidates
  if (isBulkRead(request)) return candidates
  const connected = workersInTurn(request, view).filter(({ isDisconnected }) => isDisconnected !== true)
  const free = connected.find(({ name }) => view.freeSlots(name) > 0)?.name
  if (free === undefined) return candidates
  return [{ node: free, path, relievesMaster: true }, ...candidates.filter(({ node }) => node !== free)]
}

/** Whether bulk clients alone wait for the response: a read that one began, and a person joined, is not bulk. */
export function isBulkRead({ client }: EdgeRequest): boolean {
  return client.flow?.isBulk === true && client.presence?.isInteractive !== true
}

function copiesOf(request: EdgeRequest): CopyState {
  return request.kind === 'read' ? request.copies : 'unknown'
}

/** The available workers. Requests start with different ones, so that the load of a failed node spreads over all. */
function workersInTurn({ requestId }: EdgeRequest, view: ClusterView): readonly NodeInfo[] {
  const workers = view.nodes().filter(({ type, name }) => type === 'worker' && isReachable(name, view))
  if (workers.length < 2) return workers
  const sum = [...requestId].reduce((total, char) => total + char.charCodeAt(0), 0)
  const start = sum % workers.length
  return [...workers.slice(start), ...workers.slice(0, start)]
}

function isReachable(name: string, view: ClusterView): boolean {
  return view.find(name)?.addressed === true && view.isAvailable(name)
}

/** The named node is the only candidate. */
function onNode(name: string | undefined, path: string, view: ClusterView): readonly Candidate[] {
  const node = findNode(name, view)
  if (!node.addressed) throw new EdgeError(924, ` (${node.name}: it has no address in cluster.nodes)`)
  return [{ node: node.name, path }]
}

function nodeParamOf({ params }: EdgeRequest): string | undefined {
  return Object.hasOwn(params, 'node_id') ? params.node_id : undefined
}

function findNode(name: string | undefined, view: ClusterView): NodeInfo {
  const node = name === undefined ? undefined : view.find(name)
  if (node === undefined) throw new EdgeError(3022)
  return node
}

/**
 * Mode `manager`: the manager distributes requests itself. What concerns agents or all nodes goes to the master, or to a
 * worker, which passes it on.
 */
export const routeByManager: Router = (request, view) => {
  const { path, target } = request.endpoint
  // The response of all nodes together comes from the master and is stored as its node part.
  const node = onlyNodeOf(request)
  if (node !== undefined && target.kind !== 'everyNode') return onNode(node, path, view)
  switch (target.kind) {
    case 'master': {
      const [master, ...workers] = masterFirst(request, view, pathThroughWorker(path, target.through, view))
      return [master, ...workers.map(passedOn)]
    }
    case 'anyNode':
      return freeNodeFirst(request, view)
    case 'agentOwner':
    case 'agentOwners':
    case 'everyNode':
      return masterFirst(request, view, path).map(passedOn)
    case 'node':
      return namedNodeFirst(request, view, path, target)
    case 'severalNodes':
    case 'edge':
      throw createNoNodeError(path)
  }
}

function pathThroughWorker(path: string, through: 'any' | 'twin' | 'none', view: ClusterView): string | undefined {
  if (through === 'any') return path
  // On a worker /manager/… concerns the worker. The path with the master's name concerns the master.
  if (through === 'twin') return path.replace(/^\/manager(?=\/)/, `/cluster/${view.master().name}`)
  return undefined
}

/**
 * The named node first, under its own path. Its API process may be down while the node is part of the cluster: then
 * another node passes the request on. A node that hangs gets no detour: the calls would occupy that other node too.
 */
function namedNodeFirst(
  request: EdgeRequest,
  view: ClusterView,
  path: Endpoint['path'],
  { twin, throughOthers }: Extract<Endpoint['target'], { kind: 'node' }>,
): readonly Candidate[] {
  const node = findNode(nodeParamOf(request), view)
  if (!node.addressed) return masterFirst(request, view, throughOthers ? path : undefined).map(passedOn)
  const first = { node: node.name, path: twin }
  if (!throughOthers) return [first]
  const master = view
    .nodes()
    .filter(({ name, type }) => type === 'master' && name !== node.name && isReachable(name, view))
  const others = [...master, ...workersInTurn(request, view).filter(({ name }) => name !== node.name)]
  return [first, ...others.slice(0, MAX_FALLBACKS).map(({ name }) => passedOn({ node: name, path, isDetour: true }))]
}

function passedOn(candidate: Candidate): Candidate {
  return { ...candidate, mayBePassedOn: true }
}

/**
 * Mode `edge`: each node answers from its own data, so no worker replaces the master. Requests that concern an agent
 * arrive here with its owner as the only node.
 */
export const routeByEdge: Router = (request, view) => {
  const { path, target } = request.endpoint
  const node = onlyNodeOf(request)
  if (node !== undefined) return onNode(node, path, view)
  switch (target.kind) {
    case 'master':
      return [{ node: view.master().name, path }]
    case 'anyNode':
      return freeNodeFirst(request, view)
    case 'node':
      return onNode(nodeParamOf(request), target.twin, view)
    default:
      throw new EdgeError(949, '', { cause: new Error(`${path} has no node yet`) })
  }
}

/**
 * v4 layout: the master answers everything, also for other nodes, whose names the calls contain. A worker answers
 * nothing without the master, and each of its answers takes three to five times as long.
 */
export const routeByMaster: Router = (request, view) => {
  const { path, target } = request.endpoint
  if (target.kind === 'edge' || target.kind === 'severalNodes') throw createNoNodeError(path)
  const named = onlyNodeOf(request) ?? (target.kind === 'node' ? nodeParamOf(request) : view.master().name)
  findNode(named, view)
  // Of data that a worker copies from the master, it may still have an older copy.
  const [master, ...workers] = masterFirst(request, view, copiesOf(request) === 'lagging' ? undefined : path)
  return [master, ...workers.map((worker) => ({ ...worker, replacesMaster: true as const }))]
}
