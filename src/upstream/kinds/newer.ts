/** The newer layout, which has one way of distribution, whatever the mode is. */
import { nodeOf } from '../../core/request.ts'
import {
  type ClusterKind,
  copiesOf,
  createNoNodeError,
  findNode,
  masterFirst,
  nodeParamOf,
  type Router,
} from './kind.ts'

/**
 * Newer layout: the master answers everything, also for other nodes, whose names the calls contain. A worker answers
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

export const newer: ClusterKind = {
  name: 'newer',
  distribution: 'manager',
  route: routeByMaster,
  firstNode: (view) => view.master().name,
  // A node returns up to 100,000 rows, but works ten seconds at most, in which it reads some thousand.
  reads: { rowsPerCall: 5000, joinsAgents: true },
}
