/** Whether the nodes have idle capacity for work that no client waits for. */
import type { ClusterView } from '../core/node-call.ts'
import type { EdgeRequest } from '../core/request.ts'
import { layoutOfCluster } from './cluster-layout.ts'
import type { Router } from './route.ts'

/**
 * Creates the check whether nodes have idle capacity for work that no client waits for. It holds if each node that the
 * request may go to would still have a free slot for the next client. If the node is not known yet (an agent owner,
 * several nodes), all nodes must have one.
 */
export function createIdleCapacityCheck({
  view,
  route,
}: {
  readonly view: ClusterView
  readonly route: Router
}): (request: EdgeRequest) => boolean {
  const nodesOf = (request: EdgeRequest): readonly string[] => {
    // In the newer layout the master answers for all nodes.
    if (layoutOfCluster(view) === 'newer') return [view.master().name]
    if (!isNodeOpen(request)) return [route(request, view)[0]?.node ?? '']
    return view.nodes().flatMap(({ name, addressed }) => (addressed ? [name] : []))
  }
  return (request) => {
    try {
      const nodes = nodesOf(request)
      return nodes.length > 0 && nodes.every((node) => view.freeSlots(node) > 1)
    } catch {
      return false
    }
  }
}

function isNodeOpen({ endpoint: { target }, node }: EdgeRequest): boolean {
  return (
    node === undefined &&
    (target.kind === 'agentOwner' || target.kind === 'everyNode' || target.kind === 'severalNodes')
  )
}
