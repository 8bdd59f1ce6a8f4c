import type { Endpoint } from '../catalogue/endpoint.ts'
import { EdgeError } from '../core/errors.ts'
import type { ClusterView, NodeInfo } from '../core/node-call.ts'
import type { EdgeRequest } from '../core/request.ts'

/** Where an Ask goes: the record's target and what is known of the cluster, as candidates in order of preference. */

export interface Candidate {
  readonly node: string
  /** A path template, filled from the params of the Ask. */
  readonly path: string
}

/** Never empty. */
export type Route = readonly Candidate[]
export type Router = (ask: EdgeRequest, view: ClusterView) => Route

/** A request waits for so many nodes after the first at most: the deadline is one for all of them. */
const STAND_INS = 2

export function createRouter(distribution: 'manager' | 'edge'): Router {
  return distribution === 'manager' ? route : edgeRoute
}

/**
 * Mode `manager`: the manager distributes by itself, so what belongs to agents or to all nodes goes to the master,
 * or in through any worker, which hands it on. Throws 3022 for a node that nobody knows.
 */
export const route: Router = (ask, view) => {
  const { path, target } = ask.endpoint
  // What all nodes answer together is the master's part, under whose name it is kept.
  if (ask.node !== undefined && target.kind !== 'everyNode') return onNode(ask.node, path, view)
  switch (target.kind) {
    case 'master':
      return throughMaster(ask, view, entryPath(path, target.through, view))
    case 'anyNode':
      return throughMaster(ask, view, ask.masterOnly ? undefined : path)
    case 'agentOwner':
    case 'agentOwners':
    case 'everyNode':
      return throughMaster(ask, view, path)
    case 'node':
      return toNode(ask, view, path, target.twin)
    case 'severalNodes':
    case 'edge':
      throw new EdgeError(949, '', { cause: new Error(`${path} goes to no single node`) })
  }
}

/**
 * Mode `edge`: each node answers what arrives from what it holds itself (contract/wire.md, last table). No worker
 * stands in for the master, and what belongs to agents comes here with its owner in `ask.node`.
 */
const edgeRoute: Router = (ask, view) => {
  const { path, target } = ask.endpoint
  if (ask.node !== undefined) return onNode(ask.node, path, view)
  switch (target.kind) {
    case 'master':
      return [{ node: view.master().name, path }]
    case 'anyNode':
      return throughMaster(ask, view, ask.masterOnly ? undefined : path)
    case 'node':
      return onNode(nodeOf(ask), target.twin, view)
    default:
      throw new EdgeError(949, '', { cause: new Error(`${path} goes to no node that is known yet`) })
  }
}

/** `entry` is the path under which a worker may be asked instead; absent: none may. */
function throughMaster(ask: EdgeRequest, view: ClusterView, entry: string | undefined): Route {
  const first = { node: view.master().name, path: ask.endpoint.path }
  if (entry === undefined) return [first]
  const workers = view.nodes().filter(({ type, addressed, name }) => {
    return type === 'worker' && addressed && view.isAvailable(name)
  })
  // Each request begins with another worker, so that the first of them does not bear the master's whole load.
  const start = [...ask.requestId].reduce((sum, letter) => sum + letter.charCodeAt(0), 0) % Math.max(1, workers.length)
  const turned = [...workers.slice(start), ...workers.slice(0, start)]
  return [first, ...turned.slice(0, STAND_INS).map(({ name }) => ({ node: name, path: entry }))]
}

function entryPath(path: string, through: 'any' | 'twin' | 'none', view: ClusterView): string | undefined {
  if (through === 'any') return path
  // A worker's own /manager/… speaks of the worker; of the master it speaks under the master's name.
  if (through === 'twin') return path.replace(/^\/manager(?=\/)/, `/cluster/${view.master().name}`)
  return undefined
}

/**
 * No way round through the master for a node that has an address: the master hands calls to a node one after the
 * other, and one that hangs would hold up all of them.
 */
function toNode(ask: EdgeRequest, view: ClusterView, path: Endpoint['path'], twin: string): Route {
  const node = known(nodeOf(ask), view)
  return [node.addressed ? { node: node.name, path: twin } : { node: view.master().name, path }]
}

/** That node itself, or nobody. */
function onNode(name: string | undefined, path: string, view: ClusterView): Route {
  const node = known(name, view)
  if (!node.addressed) throw new EdgeError(924, ` (${node.name}: it has no address in cluster.nodes)`)
  return [{ node: node.name, path }]
}

function nodeOf({ params }: EdgeRequest): string | undefined {
  return Object.hasOwn(params, 'node_id') ? params.node_id : undefined
}

function known(name: string | undefined, view: ClusterView): NodeInfo {
  const node = name === undefined ? undefined : view.find(name)
  if (node === undefined) throw new EdgeError(3022)
  return node
}

/** Capacity that nobody asks for: what may be spent on fetching ahead of time. */

/**
 * Would the nodes that an Ask may go to take it, and still have a place for the next client? A node that is gone would
 * not. Where the route is not known yet (an owner, many nodes), all of them must.
 */
export function spareCapacity({ view, route }: { view: ClusterView; route: Router }): (ask: EdgeRequest) => boolean {
  const all = () => view.nodes().flatMap(({ name, addressed }) => (addressed ? [name] : []))
  return (ask) => {
    try {
      const nodes = isOpen(ask)
        ? all()
        : route(ask, view)
            .slice(0, 1)
            .map(({ node }) => node)
      return nodes.length > 0 && nodes.every((node) => view.freeSlots(node) > 1)
    } catch {
      return false
    }
  }
}

function isOpen({ endpoint: { target }, node }: EdgeRequest): boolean {
  return (
    node === undefined &&
    (target.kind === 'agentOwner' || target.kind === 'everyNode' || target.kind === 'severalNodes')
  )
}
