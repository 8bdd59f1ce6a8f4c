/** What the cache asks about the nodes that a request would go to: their idle capacity, and whether they answer at all. */
import type { ClusterView } from '../core/node-call.ts'
import { type EdgeRequest, nodeOf } from '../core/request.ts'
import { layoutOfCluster } from './cluster-layout.ts'
import type { Router } from './route.ts'

interface RoutePorts {
  readonly view: ClusterView
  readonly route: Router
}

/**
 * Creates the check whether nodes have idle capacity for work that no client waits for. It holds if each node that the
 * request may go to would still have a free slot for the next client. If the node is not known yet (an agent owner,
 * several nodes), all nodes must have one.
 */
export function createIdleCapacityCheck(ports: RoutePorts): (request: EdgeRequest) => boolean {
  const { view } = ports
  return (request) => {
    const addressed = () => view.nodes().flatMap(({ name, addressed }) => (addressed ? [name] : []))
    const isOpen = layoutOfCluster(view) !== 'newer' && isNodeOpen(request)
    const nodes = isOpen ? addressed() : [firstNodeOf(ports, request)]
    return nodes.length > 0 && nodes.every((node) => node !== undefined && view.freeSlots(node) > 1)
  }
}

/** Creates the check whether the node that a request would be sent to first is known not to answer at all. */
export function createSilenceCheck(ports: RoutePorts): (request: EdgeRequest) => boolean {
  const isSilent = ports.view.isSilent ?? (() => false)
  return (request) => {
    // Routing each stale response would cost more than this test of a few nodes.
    if (!ports.view.nodes().some(({ name }) => isSilent(name))) return false
    const first = firstNodeOf(ports, request)
    return first !== undefined && isSilent(first)
  }
}

/** Returns the node that is asked first; `undefined`: there is none, or it is not known yet. */
function firstNodeOf({ view, route }: RoutePorts, request: EdgeRequest): string | undefined {
  // In the newer layout the master answers for all nodes.
  if (layoutOfCluster(view) === 'newer') return view.master().name
  try {
    return route(request, view)[0]?.node
  } catch {
    return undefined
  }
}

function isNodeOpen(request: EdgeRequest): boolean {
  const { target } = request.endpoint
  return (
    nodeOf(request) === undefined &&
    (target.kind === 'agentOwner' || target.kind === 'everyNode' || target.kind === 'severalNodes')
  )
}
