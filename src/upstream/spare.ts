/** Capacity that nobody asks for: what may be spent on fetching ahead of time. */

import type { ClusterView } from '../core/node-call.ts'
import type { EdgeRequest } from '../core/request.ts'
import type { Router } from './route.ts'

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
