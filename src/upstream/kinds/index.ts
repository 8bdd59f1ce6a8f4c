/**
 * The kind of the cluster, by its mode and its layout, and what a mixture of layouts allows; and what the cache asks
 * about the nodes that a request would go to.
 */
import { EdgeError } from '../../core/errors.ts'
import type { ClusterView, Layout } from '../../core/node-call.ts'
import { type EdgeRequest, type EdgeWrite, nodeOf, type Stage } from '../../core/request.ts'
import { type ClusterKind, edge, manager, newer } from './kind.ts'

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

/** Creates the estimate of the milliseconds until the limit per minute of the node that is asked first permits one more read. */
export function createWaitEstimate({ view, kindOf }: KindPorts): (request: EdgeRequest) => number {
  const waitFor = view.waitForNextRead ?? (() => 0)
  return (request) => {
    // Each stale hit comes here, and most of them while no node is at its limit: routing them would cost more than this test.
    if (!view.nodes().some(({ name }) => waitFor(name) > 0)) return 0
    const first = firstNodeOf(kindOf(view), request, view)
    return first === undefined ? 0 : waitFor(first)
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
