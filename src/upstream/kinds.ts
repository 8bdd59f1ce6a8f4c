/**
 * What differs by kind of cluster, as one object, the three kinds, and what a mixture of layouts allows. The v3 layout
 * has two kinds: in mode `manager` the nodes distribute requests themselves; in mode `edge` each node answers for itself, and
 * the edge distributes requests and joins.
 */

import { MAX_LIMIT } from '../collections/request.ts'
import type { Endpoint, V4Endpoint } from '../contracts/endpoint.ts'
import { EdgeError } from '../core/errors.ts'
import {
  type ClusterView,
  describeMixture,
  isInRelease,
  isRelease5,
  type Layout,
  type NodeInfo,
} from '../core/node-call.ts'
import { type CopyState, type EdgeRequest, type EdgeWrite, nodeOf, type Stage } from '../core/request.ts'
import type { Candidate } from '../layouts/dialect.ts'

/** Returns at least one candidate. Throws 3022 for an unknown node and 924 for a node without address. */
export type Router = (request: EdgeRequest, view: ClusterView) => readonly Candidate[]

export interface ClusterKind {
  /** `manager` and `edge`: the mode of the v3 layout. */
  readonly name: 'manager' | 'edge' | 'v4'
  /** The nodes that can answer a request, in order of preference. */
  readonly route: Router
  /** Returns the node that is asked first, whatever the request is; absent: the request decides. */
  readonly firstNode?: (view: ClusterView) => string
  /** Returns the version that clients must have been made for; `undefined`: any. */
  readonly clientVersion: (view: ClusterView) => string | undefined
  /**
   * Rows that one call returns at most, whether the master returns those of all agents, and whether the edge converts them for
   * clients of the v3 contract.
   */
  readonly reads: {
    readonly rowsPerCall: number
    readonly joinsAgents: boolean
    readonly convertsRows: boolean
    /** Fields that agents no longer have. Absent: none. */
    readonly lostFields?: ReadonlySet<string>
  }
}

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
  if (request.client.flow?.isBulk) return candidates
  const connected = workersInTurn(request, view).filter(({ isDisconnected }) => isDisconnected !== true)
  const free = connected.find(({ name }) => view.freeSlots(name) > 0)?.name
  if (free === undefined) return candidates
  return [{ node: free, path, relievesMaster: true }, ...candidates.filter(({ node }) => node !== free)]
}

function copiesOf(request: EdgeRequest): CopyState {
  return request.kind === 'read' ? request.copies : 'unknown'
}

/** The available workers. Requests start with different ones, so that the load of a failed node spreads over all. */
function workersInTurn({ requestId }: EdgeRequest, view: ClusterView): readonly NodeInfo[] {
  const workers = view.nodes().filter(({ type, name }) => type === 'worker' && isReachable(name, view))
  const sum = [...requestId].reduce((total, char) => total + char.charCodeAt(0), 0)
  const start = sum % Math.max(1, workers.length)
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
const routeByManager: Router = (request, view) => {
  const { path, target } = request.endpoint
  // The response of all nodes together comes from the master and is stored as its node part.
  const node = nodeOf(request)
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

const ofV3Layout: Pick<ClusterKind, 'clientVersion' | 'reads'> = {
  clientVersion: (view) => view.nodes().find(({ version }) => version !== undefined)?.version,
  reads: { rowsPerCall: MAX_LIMIT, joinsAgents: false, convertsRows: false },
}

const manager: ClusterKind = {
  name: 'manager',
  route: routeByManager,
  ...ofV3Layout,
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
const routeByEdge: Router = (request, view) => {
  const { path, target } = request.endpoint
  const node = nodeOf(request)
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

const edge: ClusterKind = { name: 'edge', route: routeByEdge, ...ofV3Layout }

/**
 * v4 layout: the master answers everything, also for other nodes, whose names the calls contain. A worker answers
 * nothing without the master, and each of its answers takes three to five times as long.
 */
const routeByMaster: Router = (request, view) => {
  const { path, target } = request.endpoint
  if (target.kind === 'edge' || target.kind === 'severalNodes') throw createNoNodeError(path)
  const named = nodeOf(request) ?? (target.kind === 'node' ? nodeParamOf(request) : view.master().name)
  findNode(named, view)
  // Of data that a worker copies from the master, it may still have an older copy.
  const [master, ...workers] = masterFirst(request, view, copiesOf(request) === 'lagging' ? undefined : path)
  return [master, ...workers.map((worker) => ({ ...worker, replacesMaster: true as const }))]
}

const v4: ClusterKind = {
  name: 'v4',
  route: routeByMaster,
  firstNode: (view) => view.master().name,
  // Its nodes are of a release that no client of the v3 contract names.
  clientVersion: () => undefined,
  // A node returns up to 100,000 rows, but works ten seconds at most, in which it reads some thousand.
  reads: { rowsPerCall: 5000, joinsAgents: true, convertsRows: true },
}

const LOST_FIELDS: ReadonlySet<string> = new Set([
  ...['configSum', 'group_config_status', 'manager', 'mergedSum', 'node_name', 'os.build', 'os.codename', 'os.uname'],
])

/**
 * Release 5.0: only the master has an API, so nothing fails over to a worker. During an upgrade, workers of releases 4 answer
 * what it lacks.
 */
const v5: ClusterKind = {
  ...v4,
  reads: { ...v4.reads, lostFields: LOST_FIELDS },
  route: (request, view) => {
    const [first, ...workers] = routeByMaster(request, view)
    const having = releasesOf(request.endpoint)
    const has = ({ node }: Candidate) => isInRelease(having, view.releaseOf?.(node))
    if (first === undefined || has(first)) return first === undefined ? [] : [first]
    return workers.filter((worker) => !isRelease5(view.releaseOf?.(worker.node)) && has(worker))
  },
}

/** Returns the releases whose nodes answer the requests of a record. */
function releasesOf(endpoint: Endpoint): NonNullable<V4Endpoint['releases']> {
  if (endpoint.contract === 'v4') return endpoint.releases ?? {}
  const until = endpoint.translation?.until
  return until === undefined ? {} : { until }
}

/** Returns the kind of the cluster now; to be asked once per request. */
export type KindOf = (view: ClusterView) => ClusterKind

export function createKinds(distribution: 'manager' | 'edge'): KindOf {
  const v3 = distribution === 'manager' ? manager : edge
  return (view) => {
    const layout = layoutOfCluster(view)
    const ofV4 = () => (isRelease5(view.releaseOf?.(view.master().name)) ? v5 : v4)
    const kind = layout === 'v4' ? ofV4() : v3
    return view.layoutMixture?.() === undefined ? kind : { ...kind, route: withoutOtherLayout(kind, layout) }
  }
}

/**
 * Nodes of two layouts do not share data: only those with the layout of the master, or of unknown layout, answer. Throws
 * 920 if there is none.
 */
function withoutOtherLayout({ route }: ClusterKind, layout: Layout | undefined): ClusterKind['route'] {
  return (request, view) => {
    const candidates = route(request, view)
    const allowed = candidates.filter(({ node }) => (view.layoutOf(node) ?? layout) === layout)
    if (allowed.length > 0) return allowed
    throw new EdgeError(920, ` (${candidates[0]?.node}: its API has another layout than that of the master)`)
  }
}

/**
 * Returns the layout of the master. While it is not known, that of any other node: a cluster has one layout except during
 * an upgrade.
 */
function layoutOfCluster(view: Pick<ClusterView, 'layoutOf' | 'master' | 'nodes'>): Layout | undefined {
  const layout = view.layoutOf(view.master().name)
  if (layout !== undefined) return layout
  for (const { name } of view.nodes()) {
    const other = view.layoutOf(name)
    if (other !== undefined) return other
  }
  return undefined
}

/** Seconds; an upgrade takes minutes. */
const RETRY_AFTER = '30'

/**
 * The stage in front of all writes. While nodes have different layouts, releases of two generations run side by side, and
 * their masters and workers do not share data: a write could get lost. Throws 939 then; nothing is sent.
 */
export function refuseWritesInMixture(view: Pick<ClusterView, 'layoutMixture'>): Stage<EdgeWrite> {
  return (next) => async (request) => {
    const mixture = view.layoutMixture?.()
    if (mixture === undefined) return next(request)
    throw new EdgeError(939, ` (${describeMixture(mixture)})`, { headers: { 'retry-after': RETRY_AFTER } })
  }
}
