/**
 * What differs by kind of cluster, as one object, the kinds, and what a mixture of layouts allows. The v3 layout
 * has two kinds: in mode `manager` the nodes distribute requests themselves; in mode `edge` each node answers for itself, and
 * the edge distributes requests and joins.
 */

import { MAX_LIMIT } from '../collections/request.ts'
import { EdgeError } from '../core/errors.ts'
import {
  type ClusterView,
  describeMixture,
  isInRelease,
  isRelease5,
  type Layout,
  type NodeReads,
} from '../core/node-call.ts'
import type { EdgeWrite, Stage } from '../core/request.ts'
import type { Candidate } from '../layouts/dialect.ts'
import { type Router, routeByEdge, routeByManager, routeByMaster } from './routers.ts'

export interface ClusterKind {
  /** `manager` and `edge`: the mode of the v3 layout. */
  readonly name: 'manager' | 'edge' | 'v4'
  /** The nodes that can answer a request, in order of preference. */
  readonly route: Router
  /** Returns the node that is asked first, whatever the request is; absent: the request decides. */
  readonly firstNode?: (view: ClusterView) => string
  /** Returns the version that clients must have been made for; `undefined`: any. */
  readonly clientVersion: (view: ClusterView) => string | undefined
  readonly reads: NodeReads
}

const ofV3Layout: Pick<ClusterKind, 'clientVersion' | 'reads'> = {
  clientVersion: (view) => view.nodes().find(({ version }) => version !== undefined)?.version,
  reads: { rowsPerCall: MAX_LIMIT, joinsAgents: false, convertsRows: false },
}

const manager: ClusterKind = {
  name: 'manager',
  route: routeByManager,
  ...ofV3Layout,
}

const edge: ClusterKind = { name: 'edge', route: routeByEdge, ...ofV3Layout }

const v4: ClusterKind = {
  name: 'v4',
  route: routeByMaster,
  firstNode: (view) => view.master().name,
  // Its nodes are of a release that no client of the v3 contract names.
  clientVersion: () => undefined,
  // A node returns up to 100,000 rows, but works ten seconds at most, in which it reads some thousand.
  reads: { rowsPerCall: 5000, joinsAgents: true, convertsRows: true },
}

const LOST_FIELDS: ReadonlySet<string> = new Set([
  ...['configSum', 'group_config_status', 'manager', 'mergedSum', 'node_name', 'os.build', 'os.codename', 'os.uname'],
])

/**
 * Release 5.0: only the master has an API, so nothing fails over to a worker. During an upgrade, workers of releases 4 answer
 * what it lacks.
 */
const v5: ClusterKind = {
  ...v4,
  reads: { ...v4.reads, lostFields: LOST_FIELDS },
  route: (request, view) => {
    const { endpoint } = request
    const { releases } = endpoint.contract === 'v4' ? endpoint : (endpoint.translation ?? {})
    const [first, ...workers] = routeByMaster(request, view)
    const has = ({ node }: Candidate) => isInRelease(releases, view.releaseOf(node))
    if (first === undefined || has(first)) return first === undefined ? [] : [first]
    // In release 5.0 a worker has no API, so one whose release was never read is not called.
    const releaseOf = ({ node }: Candidate) => view.releaseOf(node)
    const others = workers.filter((worker) => releaseOf(worker) && !isRelease5(releaseOf(worker)) && has(worker))
    // The dialect refuses what no node has.
    return others.length > 0 ? others : [first]
  },
}

/** Returns the kind of the cluster now; to be asked once per request. */
export type KindOf = (view: ClusterView) => ClusterKind

export function createKinds(distribution: 'manager' | 'edge'): KindOf {
  const v3 = distribution === 'manager' ? manager : edge
  return (view) => {
    const layout = layoutOfCluster(view)
    const ofV4 = () => (isRelease5(view.releaseOf(view.master().name)) ? v5 : v4)
    const kind = layout === 'v4' ? ofV4() : v3
    return view.layoutMixture() === undefined ? kind : { ...kind, route: withoutOtherLayout(kind, layout) }
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
    const mixture = view.layoutMixture()
    if (mixture === undefined) return next(request)
    throw new EdgeError(939, ` (${describeMixture(mixture)})`, { headers: { 'retry-after': RETRY_AFTER } })
  }
}
