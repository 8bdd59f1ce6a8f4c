/** The layout of the cluster as a whole, and what a mixture of layouts allows. */
import { EdgeError } from '../core/errors.ts'
import type { ClusterView, Layout } from '../core/node-call.ts'
import type { EdgeWrite, Stage } from '../core/request.ts'

/**
 * Returns the layout of the master. While it is not known, that of any other node: a cluster has one layout except during
 * an upgrade.
 */
export function layoutOfCluster(view: Pick<ClusterView, 'layoutOf' | 'master' | 'nodes'>): Layout | undefined {
  const layout = view.layoutOf(view.master().name)
  if (layout !== undefined) return layout
  for (const { name } of view.nodes()) {
    const other = view.layoutOf(name)
    if (other !== undefined) return other
  }
  return undefined
}

/** Returns whether a node may be asked: not if it is known to have another layout than the cluster. */
export function hasLayoutOfCluster(node: string, view: ClusterView): boolean {
  const layout = view.layoutOf(node)
  return layout === undefined || layout === layoutOfCluster(view)
}

/** Seconds; an upgrade takes minutes. */
const RETRY_AFTER = '30'

/**
 * The stage in front of all writes. While nodes have different layouts, releases of two generations run side by side, and
 * their masters and workers do not share data: a write could get lost. Throws 939 then; nothing is sent.
 */
export function refuseWritesInMixture(view: Pick<ClusterView, 'layoutMixture'>): Stage<EdgeWrite> {
  return (next) => async (request) => {
    const mixture = view.layoutMixture?.()
    if (mixture === undefined) return next(request)
    const { classic, newer } = mixture
    const detail = ` (classic: ${classic.join(', ')}; newer: ${newer.join(', ')})`
    throw new EdgeError(939, detail, { headers: { 'retry-after': RETRY_AFTER } })
  }
}
