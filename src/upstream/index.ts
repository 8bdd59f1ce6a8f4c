/** The nodes of the cluster behind two interfaces of the core: calls to nodes, and a view of their state. */
import type { ClusterView, NodeInfo } from '../core/node-call.ts'
import { Discovery } from './discovery.ts'
import { DRAINED, Drains } from './drains.ts'
import { Layouts } from './layouts.ts'
import { NodeContacts } from './node-contacts.ts'
import { type ConnectionChanges, NodeRegistry } from './node-registry.ts'
import {
  type ClusterOptions,
  type ClusterSettings,
  type NodeSetting,
  type NodeStatus,
  withDefaults,
} from './options.ts'
import { PassedOnCalls } from './passed-on-calls.ts'
import { checkNodes, createNodeVersions, isNodeName, Topology } from './topology.ts'

export type { ClusterLog, ClusterOptions, NodeCredentials, NodeSetting, NodeStatus, NodeTls } from './options.ts'

/** Absent: unchanged. */
export interface ClusterChanges extends ConnectionChanges {
  readonly nodes?: readonly NodeSetting[]
  readonly discover?: boolean
}

export type Cluster = ReturnType<typeof createCluster>

/** Throws with a remedy for settings that cannot work. Opens no connection before `start` or the first call. */
export function createCluster(options: ClusterOptions) {
  const parts = createParts(options)
  const { topology, layouts, drains, registry, contacts, discovery, view } = parts
  const { call, verify, issue } = registry
  let current = options.nodes
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
    /** Waits a few seconds for the first list of nodes. The start succeeds without it. */
    start: async (): Promise<void> => {
      await layouts.start()
      await discovery.start()
    },
    /** Aborts the calls in flight. */
    close: async (): Promise<void> => {
      for (const part of [contacts, drains, layouts, discovery]) part.stop()
      await registry.destroy()
    },
    /**
     * Checks changed settings. Throws, and changes nothing, if they cannot be used. Returns the function that puts them to
     * use without a failed call: new calls go to the new nodes, and new connections use the new certificates and
     * addresses. `limits` may return other values too.
     */
    prepare: ({ nodes = current, discover, ...changes }: ClusterChanges): (() => void) => {
      const connecting = registry.prepare(changes)
      registry.check(nodes, connecting)
      checkNodes(nodes)
      return () => {
        current = nodes
        registry.reconfigure(connecting)
        topology.configure(nodes)
        registry.replace(nodes)
        layouts.refresh()
        if (discover !== undefined) discovery.restart(discover)
        if (changes.credentials !== undefined) contacts.probeAll()
      }
    },
    status: (): readonly NodeStatus[] => topology.nodes().map((node) => statusOf(node, parts)),
  }
}

function createParts(options: ClusterOptions) {
  const settings = withDefaults(options)
  const { log, clock, credentials, shareDrains, peers } = settings
  const topology = new Topology(options.nodes)
  const verifiesUsersAtMaster = credentials.mode === 'passthrough'
  const drains = new Drains({ view: topology, share: shareDrains, verifiesUsersAtMaster, log })
  const layouts: Layouts = new Layouts({
    settings,
    view: topology,
    drains,
    recognise: async (name) =>
      registry.find(name)?.recognise() ?? { ok: false, reason: 'no address is known', sent: true },
  })
  const passedOn = new PassedOnCalls({ ...settings, view: topology, drains })
  const observed: ClusterSettings = {
    ...settings,
    onCall: (event) => {
      contacts.onNodeCall(event)
      settings.onCall?.(event)
    },
    onEject: (node) => {
      contacts.onEject(node)
      settings.onEject?.(node)
    },
  }
  const onRecover = (node: string) => contacts.probe(node)
  const registry = new NodeRegistry(observed, { drains, layouts, passedOn, onRecover })
  registry.check(options.nodes)
  registry.replace(options.nodes)
  const discovery = new Discovery(settings, topology, registry.call)
  const view = createView({ topology, layouts, registry, discovery, clock })
  const hasOwnCredentials = credentials.mode === 'service'
  const contacts = new NodeContacts({ call: registry.call, view, drains, hasOwnCredentials, peers, clock })
  drains.onChange(({ drained, putBack }) => {
    // Calls in flight finish. The failures before a maintenance show nothing about the node after it.
    for (const name of drained) registry.find(name)?.limiter.rejectQueued(DRAINED)
    for (const name of putBack) registry.find(name)?.health.forget()
    layouts.askAgain(putBack)
  })
  return { topology, layouts, drains, passedOn, registry, contacts, discovery, view }
}

interface ViewParts {
  readonly topology: Topology
  readonly layouts: Layouts
  readonly registry: NodeRegistry
  readonly discovery: Discovery
  readonly clock: () => number
}

function createView({ topology, layouts, registry, discovery, clock }: ViewParts): ClusterView {
  return {
    nodes: topology.nodes,
    find: (name) => {
      const found = topology.find(name)
      // An unknown name may be that of a new node.
      if (found === undefined && isNodeName(name)) discovery.requestRefresh()
      return found
    },
    master: topology.master,
    layoutOf: layouts.of,
    layoutMixture: layouts.mixture,
    confirmLayout: layouts.confirm,
    isSilent: (name) => registry.find(name)?.health.isSilent ?? false,
    versions: createNodeVersions((name) => topology.find(name)?.version, clock),
    isAvailable: (name) => registry.find(name)?.isAvailable ?? false,
    freeSlots: (name) => registry.find(name)?.freeSlots ?? 0,
    waitForReads: (name, calls) => registry.find(name)?.waitForReads(calls) ?? 0,
    waitForNextRead: (name) => registry.find(name)?.waitForNextRead() ?? 0,
  }
}

function statusOf(
  { name, type, addressed }: NodeInfo,
  { topology, registry, layouts, passedOn, drains }: ReturnType<typeof createParts>,
): NodeStatus {
  const listed = topology.isListed(name)
  const layout = addressed ? layouts.of(name) : undefined
  const state = registry.find(name)?.status() ?? { inFlight: 0, limit: 0, slots: 0, queue: 0 }
  const optional = { ...(listed !== undefined && { listed }), ...(layout && { layout }) }
  const cutOffFor = passedOn.cutOffFor(name)
  const cutOff = cutOffFor === undefined ? {} : { cutOffUntil: Date.now() + cutOffFor }
  const drain = drains.find(name)
  return { name, type, addressed, ...optional, ...state, ...cutOff, ...(drain && { drain }) }
}
