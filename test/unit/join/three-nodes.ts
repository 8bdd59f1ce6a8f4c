/** A cluster of a master and two workers for tests of handlers over many nodes. */
import type { ClusterView, NodeInfo } from '../../../src/core/node-call.ts'
import { clusterViewOf } from '../../support/cluster-view.ts'
import { recordOf } from '../../support/edge-requests.ts'

export const names = ['m', 'w1', 'w2']
export const view = viewOf(names)

/** The endpoints of `joinVerdicts` and `joinWrites`. */
export const endpoints = {
  restart: recordOf('POST /agents/restart'),
  validation: recordOf('GET /cluster/:node_id/configuration/validation'),
}

/** No node distributes requests itself. */
export const isDistributing = async () => false

/** Returns the view of a cluster in which all nodes are available. The first one is the master. */
export function viewOf(names: readonly string[]): ClusterView {
  const nodes = names.map((name, at): NodeInfo => ({ name, type: at === 0 ? 'master' : 'worker', addressed: true }))
  return clusterViewOf(nodes)
}
