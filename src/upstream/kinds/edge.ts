/** The classic layout in mode `edge`: each node answers for itself, and the edge distributes requests and joins. */
import { EdgeError } from '../../core/errors.ts'
import { nodeOf } from '../../core/request.ts'
import { CLASSIC_READS, type ClusterKind, freeNodeFirst, nodeParamOf, onNode, type Router } from './kind.ts'

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

export const edge: ClusterKind = { name: 'edge', distribution: 'edge', route: routeByEdge, reads: CLASSIC_READS }
