/** What the cache asks about the nodes that a request would go to: their idle capacity, and whether they answer at all. */
import type { ClusterView } from '../core/node-call.ts'
import { type EdgeRequest, nodeOf } from '../core/request.ts'
import type { ClusterKind, KindOf } from './kinds/index.ts'

interface KindPorts {
  readonly view: ClusterView
  readonly kindOf: KindOf
}

/**
 * Creates the check whether nodes have idle capacity for work that no client waits for. It holds if each node that the
 * request may go to would still have a free slot for the next client. If the node is not known yet (an agent owner,
 * several nodes), all nodes must have one.
 */
export function createIdleCapacityCheck({ view, kindOf }: KindPorts): (request: EdgeRequest) => boolean {
  return (request) => {
    const kind = kindOf(view)
    const addressed = () => view.nodes().flatMap(({ name, addressed }) => (addressed ? [name] : []))
    const isOpen = kind.firstNode === undefined && isNodeOpen(request)
    const nodes = isOpen ? addressed() : [firstNodeOf(kind, request, view)]
    return nodes.length > 0 && nodes.every((node) => node !== undefined && view.freeSlots(node) > 1)
  }
}

/** Creates the check whether the node that a request would be sent to first is known not to answer at all. */
export function createSilenceCheck({ view, kindOf }: KindPorts): (request: EdgeRequest) => boolean {
  const isSilent = view.isSilent ?? (() => false)
  return (request) => {
    // Routing each stale response would cost more than this test of a few nodes.
    if (!view.nodes().some(({ name }) => isSilent(name))) return false
    const first = firstNodeOf(kindOf(view), request, view)
    return first !== undefined && isSilent(first)
  }
}

/** Returns the node that is asked first; `undefined`: there is none, or it is not known yet. */
function firstNodeOf({ firstNode, route }: ClusterKind, request: EdgeRequest, view: ClusterView): string | undefined {
  if (firstNode !== undefined) return firstNode(view)
  try {
    return route(request, view)[0]?.node
  } catch {
    return undefined
  }
}

function isNodeOpen(request: EdgeRequest): boolean {
  const { kind } = request.endpoint.target
  return nodeOf(request) === undefined && (kind === 'agentOwner' || kind === 'everyNode' || kind === 'severalNodes')
}
