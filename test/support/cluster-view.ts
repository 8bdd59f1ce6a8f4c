/** The view of a cluster that is not connected to nodes. */
import type { ClusterView, NodeInfo } from '../../src/core/node-call.ts'

/** Returns a view in which all nodes are available and have the v3 layout, but for `more`. The master is the first of its type. */
export function clusterViewOf(nodes: readonly NodeInfo[], more: Partial<ClusterView> = {}): ClusterView {
  const master = nodes.find(({ type }) => type === 'master')
  if (master === undefined) throw new Error('a cluster has a master')
  return {
    nodes: () => nodes,
    find: (name) => nodes.find((node) => node.name === name),
    master: () => master,
    layoutOf: () => 'v3',
    layoutMixture: () => undefined,
    versions: { of: () => undefined, note: () => undefined },
    releaseOf: () => undefined,
    releases: () => ({}),
    isAvailable: () => true,
    isSilent: () => false,
    freeSlots: () => 4,
    isSaturated: () => false,
    waitForReads: () => 0,
    waitForNextRead: () => 0,
    ...more,
  }
}

/** Returns the view of a master alone, whose release is known. */
export function viewOfMaster(release = '4.5.4'): ClusterView {
  const versions = { of: () => release, note: () => undefined }
  return clusterViewOf([{ name: 'master', type: 'master', addressed: true }], { releaseOf: () => release, versions })
}
