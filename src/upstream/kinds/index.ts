/** The kind of the cluster, by its mode and its layout, and what a mixture of layouts allows. */
import { EdgeError } from '../../core/errors.ts'
import type { ClusterView, Layout } from '../../core/node-call.ts'
import type { EdgeWrite, Stage } from '../../core/request.ts'
import { edge } from './edge.ts'
import type { ClusterKind } from './kind.ts'
import { manager } from './manager.ts'
import { newer } from './newer.ts'

export type { Candidate, ClusterKind, Router } from './kind.ts'

/** Returns the kind of the cluster now; to be asked once per request. */
export type KindOf = (view: ClusterView) => ClusterKind

export function createKinds(distribution: 'manager' | 'edge'): KindOf {
  const classic = distribution === 'manager' ? manager : edge
  return (view) => {
    const layout = layoutOfCluster(view)
    const kind = layout === 'newer' ? newer : classic
    return view.layoutMixture?.() === undefined ? kind : { ...kind, route: withoutOtherLayout(kind, layout) }
  }
}

/**
 * Nodes of two layouts do not share data: only those with the layout of the master, or of unknown layout, answer. Throws
 * 920 if there is none.
 */
function withoutOtherLayout({ route }: ClusterKind, layout: Layout | undefined): ClusterKind['route'] {
  return (request, view) => {
    const candidates = route(request, view)
    const allowed = candidates.filter(({ node }) => (view.layoutOf(node) ?? layout) === layout)
    if (allowed.length > 0) return allowed
    throw new EdgeError(920, ` (${candidates[0]?.node}: its API has another layout than that of the master)`)
  }
}

/**
 * Returns the layout of the master. While it is not known, that of any other node: a cluster has one layout except during
 * an upgrade.
 */
function layoutOfCluster(view: Pick<ClusterView, 'layoutOf' | 'master' | 'nodes'>): Layout | undefined {
  const layout = view.layoutOf(view.master().name)
  if (layout !== undefined) return layout
  for (const { name } of view.nodes()) {
    const other = view.layoutOf(name)
    if (other !== undefined) return other
  }
  return undefined
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
