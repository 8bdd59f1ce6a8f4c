/** What other rooms see of the nodes: their layouts and releases, and whether they take calls. */
import { type ClusterView, isRelease5, type LayoutMixture, minorOf } from '../core/node-call.ts'
import type { ConnectedNodes } from './connected-nodes.ts'
import type { Discovery } from './discovery.ts'
import type { Layouts } from './layouts.ts'
import type { NodesInUse } from './nodes-in-use.ts'
import type { ClusterSettings } from './options.ts'
import { isNodeName, type Topology } from './topology.ts'

/** The version of a node that was upgraded: its list has the new one within 30 s, and the node itself shows it at once. */
const KNOWN_VERSION_MS = 60_000
/** Each prepared hit depends on the lowest release. */
const KNOWN_RELEASES_MS = 1_000

interface ViewParts extends Pick<ConnectedNodes, 'byName'> {
  readonly inUse: Pick<NodesInUse, 'topology'>
  readonly layouts: Layouts
  readonly discovery: Discovery
  readonly settings: ClusterSettings
}

export function createView({ inUse, byName, layouts, discovery, settings }: ViewParts): ClusterView {
  const { layout, clock } = settings
  let known: { readonly topology: Topology | undefined; readonly until: number } & ReleasesOfNodes = NOTHING_KNOWN
  const versionOf = (name: string): string | undefined => {
    const shown = byName.get(name)?.shownVersion
    return shown && shown.until > clock() ? shown.version : inUse.topology.byName.get(name)?.version
  }
  // A release that was read long ago decides rather than none.
  const latestVersionOf = (name: string) => versionOf(name) ?? byName.get(name)?.shownVersion?.version
  const isFailing = (name: string) => byName.get(name)?.health.contact.failingSince !== undefined
  const releases = (): ReleasesOfNodes => {
    const { topology } = inUse
    if (known.topology !== topology || known.until <= clock())
      known = { topology, until: clock() + KNOWN_RELEASES_MS, ...releasesOf(topology, latestVersionOf, isFailing) }
    return known
  }
  return {
    nodes: () => inUse.topology.nodes,
    find: (name) => {
      const found = inUse.topology.byName.get(name)
      // An unknown name may be that of a new node.
      if (found === undefined && isNodeName(name)) discovery.requestRefresh()
      return found
    },
    master: () => inUse.topology.master,
    layoutOf: (name) => (layout === 'auto' ? byName.get(name)?.layout.value : layout),
    ...(layout === 'auto' && { confirmLayout: layouts.confirm }),
    layoutMixture: () => (layout === 'v3' ? undefined : (layouts.mixture ?? releases().mixture)),
    versions: {
      of: versionOf,
      note: (name, version) => {
        const node = byName.get(name)
        known = NOTHING_KNOWN
        if (node) node.shownVersion = { version, until: clock() + KNOWN_VERSION_MS }
      },
    },
    releaseOf: latestVersionOf,
    releases,
    isSilent: (name) => byName.get(name)?.health.isSilent ?? false,
    isAvailable: (name) => byName.get(name)?.isAvailable ?? false,
    freeSlots: (name) => byName.get(name)?.freeSlots ?? 0,
    isSaturated: (name) => byName.get(name)?.isSaturated ?? false,
    waitForReads: (name, calls) => byName.get(name)?.waitForReads(calls) ?? 0,
    waitForNextRead: (name, others) => byName.get(name)?.waitForNextRead(others) ?? 0,
  }
}

interface ReleasesOfNodes {
  readonly lowest?: string | undefined
  readonly highest?: string | undefined
  readonly mixture?: LayoutMixture
}

const NOTHING_KNOWN = { topology: undefined, until: 0 }

/** `isFailing`: the latest call to a node has failed. In front of a master of release 5.0, such a worker has no API any more. */
function releasesOf(
  { nodes, master }: Topology,
  versionOf: (name: string) => string | undefined,
  isFailing: (name: string) => boolean,
): ReleasesOfNodes {
  const hasMasterOnly = isRelease5(versionOf(master.name))
  const known = nodes.flatMap(({ name }) => {
    const release = versionOf(name)
    const minor = minorOf(release)
    if (release === undefined || minor === undefined) return []
    return hasMasterOnly && name !== master.name && isFailing(name) ? [] : [{ name, release, minor }]
  })
  known.sort((a, b) => a.minor - b.minor)
  const [first, last] = [known[0]?.release, known.at(-1)?.release]
  if (first === undefined || last === undefined) return {}
  const ofRelease5 = (expected: boolean) =>
    known.flatMap(({ name, release }) => (isRelease5(release) === expected ? [name] : []))
  const isMixture = !isRelease5(first) && isRelease5(last)
  return {
    lowest: first,
    highest: last,
    ...(isMixture && { mixture: { v4: ofRelease5(false), v5: ofRelease5(true) } }),
  }
}
