/** The nodes of the cluster behind two interfaces of the core: calls to nodes, and a view of their state. */
import { type ClusterView, isRelease5, type LayoutMixture, minorOf, type NodeInfo } from '../core/node-call.ts'
import { withTimeout } from '../core/timing.ts'
import { ConnectedNodes, type ConnectionChanges } from './connected-nodes.ts'
import { Discovery } from './discovery.ts'
import { DRAINED, Drains } from './drains.ts'
import { NodeContacts } from './failure/node-contacts.ts'
import { PassedOnCalls } from './failure/passed-on-calls.ts'
import { Layouts } from './layouts.ts'
import { NodesInUse } from './nodes-in-use.ts'
import {
  type ClusterOptions,
  type ClusterSettings,
  type NodeSetting,
  type NodeStatus,
  withDefaults,
} from './options.ts'
import { createTopology, isNodeName, type Topology } from './topology.ts'

export type { ClusterOptions, NodeCredentials, NodeSetting, NodeStatus, NodeTls } from './options.ts'

/** Absent: unchanged. */
export interface ClusterChanges extends ConnectionChanges {
  readonly nodes?: readonly NodeSetting[]
  readonly discover?: boolean
}

export type Cluster = ReturnType<typeof createCluster>

/** Slow intervals of contact after which a worker that does not answer a cluster of release 5.0 has no API. */
const PATIENCE_INTERVALS = 4

/** How long the start waits for the layouts of the nodes. */
const FIRST_ROUND_MS = 5_000

/** Throws with a remedy for settings that cannot work. Opens no connection before `start` or the first call. */
export function createCluster(options: ClusterOptions) {
  const parts = createParts(options)
  const { layouts, drains, connected, contacts, discovery, view, inUse } = parts
  const { call, verify, issue } = connected
  let timer: NodeJS.Timeout | undefined
  return {
    call,
    verify,
    issue,
    view,
    /** The nodes that receive no calls, because an operator has drained them. */
    drains,
    /** What the calls of this replica show about the nodes in use. */
    contacts,
    /** The master's list of nodes, which one replica reads for all. */
    nodeList: discovery,
    /** Waits a few seconds for the layouts, the first list of nodes and the first contact. The start succeeds without them. */
    start: async (): Promise<void> => {
      const { interval } = contacts.times
      const beat = () => {
        inUse.update()
        void Promise.all([layouts.askDue(), contacts.callDue()])
      }
      timer = setInterval(beat, interval).unref()
      await withTimeout(layouts.askDue(), FIRST_ROUND_MS, undefined)
      await discovery.start()
      await withTimeout(contacts.callDue(), interval, undefined)
    },
    /** Aborts the calls in flight. */
    close: async (): Promise<void> => {
      clearInterval(timer)
      for (const part of [drains, discovery]) part.stop()
      await connected.destroy()
    },
    /**
     * Checks changed settings. Throws, and changes nothing, if they cannot be used. Returns the function that puts them to
     * use without a failed call: new calls go to the new nodes, and new connections use the new certificates and
     * addresses. `limits` may return other values too.
     */
    prepare: ({ nodes = parts.topology.settings, discover, ...changes }: ClusterChanges): (() => void) => {
      const connecting = connected.prepare(changes, nodes)
      createTopology(nodes)
      return () => {
        connected.reconfigure(connecting)
        inUse.replace(nodes)
        layouts.refresh()
        if (discover !== undefined) discovery.restart(discover)
        if (changes.credentials !== undefined) contacts.probeAll()
      }
    },
    status: (): readonly NodeStatus[] => parts.topology.nodes.map((node) => statusOf(node, parts)),
    /** Returns the milliseconds until the first node is tried again; `undefined`: at least one is not ejected. */
    outageFor: (): number | undefined => {
      const used = parts.topology.nodes.filter(({ name, addressed }) => addressed && !drains.drained.has(name))
      const times = used.flatMap(({ name }) => connected.byName.get(name)?.health.ejectedFor ?? [])
      return used.length === 0 || times.length < used.length ? undefined : Math.min(...times)
    },
  }
}

type Parts = ReturnType<typeof createParts>

function createParts(options: ClusterOptions) {
  const settings = withDefaults(options)
  const { log, clock, credentials, shareDrains, peers, contactTimes: times } = settings
  const hasOwnCredentials = credentials.mode === 'service'
  /** Replaced when the settings or the master's list change. */
  const current = { topology: createTopology(options.nodes) }
  const latestReleaseOf = (node: string) => view.releaseOf?.(node)
  const members = { nodes: () => current.topology.nodes, master: () => current.topology.master }
  const drains = new Drains({ view: members, share: shareDrains, verifiesUsersAtMaster: !hasOwnCredentials, log })
  const { drained } = drains
  const passedOn = new PassedOnCalls({ ...settings, view: members, drained })
  const connected: ConnectedNodes = new ConnectedNodes(settings, {
    drained,
    passedOn,
    ...(settings.layout === 'auto' && { confirmLayout: (...question) => layouts.confirm(...question) }),
    onRecover: (node) => contacts.probe(node),
    onProbe: (node, probe) => layouts.note(node, probe),
    // What is known already stays as old as it is: a list that comes later has a newer version.
    onVersion: (node, version) => {
      if (view.versions?.of(node) !== version) view.versions?.note(node, version)
      inUse.update()
    },
    releaseOf: latestReleaseOf,
  })
  connected.prepare({}, options.nodes)
  connected.replace(options.nodes)
  const { byName, call } = connected
  const patience = times.slowInterval * PATIENCE_INTERVALS
  const inUse = new NodesInUse({ current, connected, releaseOf: latestReleaseOf, clock, patience, log })
  const layouts: Layouts = new Layouts({ settings, nodes: byName, view: members, drained })
  const discovery = new Discovery(settings, {
    call,
    topology: () => current.topology,
    onList: (list) => inUse.takeList(list),
  })
  const view: ClusterView = createView(current, { byName, layouts, discovery, settings })
  const contacts = new NodeContacts({ call, view, drained, nodes: byName, hasOwnCredentials, peers, clock, times })
  drains.onChange(({ drained, putBack }) => {
    // Calls in flight finish. The failures before a maintenance show nothing about the node after it.
    for (const name of drained) byName.get(name)?.limiter.rejectQueued(DRAINED)
    for (const name of putBack) byName.get(name)?.health.forget()
    layouts.updateDrains(putBack)
  })
  return Object.assign(current, { layouts, drains, passedOn, connected, contacts, discovery, view, inUse })
}

/** The version of a node that was upgraded: its list has the new one within 30 s, and the node itself shows it at once. */
const KNOWN_VERSION_MS = 60_000
/** Each prepared hit depends on the lowest release. */
const KNOWN_RELEASES_MS = 1_000

interface ViewParts extends Pick<ConnectedNodes, 'byName'> {
  readonly layouts: Layouts
  readonly discovery: Discovery
  readonly settings: ClusterSettings
}

function createView(
  current: { readonly topology: Topology },
  { byName, layouts, discovery, settings: { layout, clock } }: ViewParts,
): ClusterView {
  let known: { readonly topology: Topology | undefined; readonly until: number } & ReleasesOfNodes = NOTHING_KNOWN
  const versionOf = (name: string): string | undefined => {
    const shown = byName.get(name)?.shownVersion
    return shown && shown.until > clock() ? shown.version : current.topology.byName.get(name)?.version
  }
  // A release that was read long ago decides rather than none.
  const latestVersionOf = (name: string) => versionOf(name) ?? byName.get(name)?.shownVersion?.version
  const isFailing = (name: string) => byName.get(name)?.health.contact.failingSince !== undefined
  const releases = (): ReleasesOfNodes => {
    const { topology } = current
    if (known.topology !== topology || known.until <= clock())
      known = { topology, until: clock() + KNOWN_RELEASES_MS, ...releasesOf(topology, latestVersionOf, isFailing) }
    return known
  }
  return {
    nodes: () => current.topology.nodes,
    find: (name) => {
      const found = current.topology.byName.get(name)
      // An unknown name may be that of a new node.
      if (found === undefined && isNodeName(name)) discovery.requestRefresh()
      return found
    },
    master: () => current.topology.master,
    layoutOf: (name) => (layout === 'auto' ? byName.get(name)?.layout.value : layout),
    ...(layout === 'auto' && { confirmLayout: layouts.confirm }),
    ...(layout !== 'v3' && { layoutMixture: () => layouts.mixture ?? releases().mixture }),
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

function statusOf({ name, type, addressed }: NodeInfo, parts: Parts): NodeStatus {
  const { topology, connected, view, passedOn, drains } = parts
  const listed = topology.list?.some((node) => node.name === name)
  const layout = addressed ? view.layoutOf(name) : undefined
  const state = connected.byName.get(name)?.status() ?? { inFlight: 0, limit: 0, slots: 0, queue: 0 }
  const cutOffFor = passedOn.cutOffFor(name)
  const drain = drains.drained.get(name)
  return {
    name,
    type,
    addressed,
    ...(listed !== undefined && { listed }),
    ...(layout && { layout }),
    ...state,
    ...(cutOffFor !== undefined && { cutOffFor }),
    ...(drain && { drain }),
  }
}
