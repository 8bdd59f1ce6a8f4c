/**
 * The classic layout: in mode `manager` the nodes distribute requests themselves; in mode `edge` each node answers for
 * itself, and the edge distributes requests and joins.
 */
import type { Endpoint } from '../../catalogue/endpoint.ts'
import { EdgeError } from '../../core/errors.ts'
import type { ClusterView } from '../../core/node-call.ts'
import { type EdgeRequest, nodeOf } from '../../core/request.ts'
import {
  type Candidate,
  type ClusterKind,
  createNoNodeError,
  findNode,
  freeNodeFirst,
  isReachable,
  MAX_FALLBACKS,
  masterFirst,
  nodeParamOf,
  onNode,
  type Router,
  workersInTurn,
} from './kind.ts'

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

const ofClassicLayout: Pick<ClusterKind, 'clientVersion' | 'reads'> = {
  clientVersion: (view) => view.nodes().find(({ version }) => version !== undefined)?.version,
  reads: { rowsPerCall: 1000, joinsAgents: false },
}

export const manager: ClusterKind = {
  name: 'manager',
  route: routeByManager,
  ...ofClassicLayout,
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

export const edge: ClusterKind = { name: 'edge', route: routeByEdge, ...ofClassicLayout }
