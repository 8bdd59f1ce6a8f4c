/** The nodes of the cluster behind two interfaces of the core: calls to nodes, and a view of their state. */
import type { CallNode, ClusterView, NodeInfo, NodeResponse } from '../core/node-call.ts'
import type { EdgeRequest } from '../core/request.ts'
import { createDiscovery } from './discovery.ts'
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
import type { Issue, Verify } from './tokens/token-calls.ts'
import { checkNodes, createNodeVersions, isNodeName, type ReadNodeList, Topology } from './topology.ts'

export type { ClusterLog, ClusterOptions, NodeCredentials, NodeSetting, NodeStatus, NodeTls } from './options.ts'

export interface Cluster {
  readonly call: CallNode
  /** Checks the credentials of the call, which is a read that every account may send. */
  readonly verify: Verify
  /** Returns a token of the node for the user whose credentials the call has; `refused`: the node refuses this one. */
  readonly issue: Issue
  readonly view: ClusterView
  /** Waits a few seconds for the first list of nodes. The start succeeds without it. */
  start(): Promise<void>
  /** Aborts the calls in flight. */
  close(): Promise<void>
  /**
   * Checks changed settings. Throws, and changes nothing, if they cannot be used. Returns the function that puts them to
   * use without a failed call: new calls go to the new nodes, and new connections use the new certificates and
   * addresses. `limits` may return other values too.
   */
  prepare(changes: ClusterChanges): () => void
  status(): readonly NodeStatus[]
  readonly nodeList: SharedNodeList
  /** The nodes that receive no calls, because an operator has drained them. */
  readonly drains: Drains
  /** What the calls of this replica show about the nodes in use. */
  readonly contacts: NodeContacts
}

/** The master's list of nodes, which one replica reads for all. */
interface SharedNodeList {
  /** Returns the list that this replica has read lately, to be published. */
  lastRead(): ReadNodeList | undefined
  /** Takes a list that another replica published `ago` milliseconds ago. It is checked like the response of a node. */
  offer(list: unknown, ago: number): void
  /** Takes the list from a response to the request of a client, if it is the whole list and comes from the master. */
  observe(request: EdgeRequest, response: NodeResponse): void
}

/** Absent: unchanged. */
export interface ClusterChanges extends ConnectionChanges {
  readonly nodes?: readonly NodeSetting[]
  readonly discover?: boolean
}

/** Throws with a remedy for settings that cannot work. Opens no connection before `start` or the first call. */
export function createCluster(options: ClusterOptions): Cluster {
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
  let current = options.nodes
  registry.replace(options.nodes)
  const { call, verify, issue } = registry
  const view = createView(layouts, topology, registry, clock, () => discovery?.requestRefresh())
  const hasOwnCredentials = credentials.mode === 'service'
  const contacts = new NodeContacts({ call, view, drains, hasOwnCredentials, peers, clock })
  drains.onChange(({ drained, putBack }) => {
    // Calls in flight finish. The failures before a maintenance show nothing about the node after it.
    for (const name of drained) registry.find(name)?.limiter.rejectQueued(DRAINED)
    for (const name of putBack) registry.find(name)?.health.forget()
    layouts.askAgain(putBack)
  })
  let discovery = createDiscovery(settings, topology, call)
  const setDiscovery = (discover: boolean): void => {
    discovery?.stop()
    topology.forgetList()
    discovery = createDiscovery({ ...settings, discover }, topology, call)
    void discovery?.start()
  }
  return {
    call,
    verify,
    issue,
    view,
    start: async () => {
      await layouts.start()
      await discovery?.start()
    },
    close: async () => {
      contacts.stop()
      drains.stop()
      layouts.stop()
      discovery?.stop()
      await registry.destroy()
    },
    prepare: ({ nodes = current, discover, ...changes }) => {
      const connecting = registry.prepare(changes)
      registry.check(nodes, connecting)
      checkNodes(nodes)
      return () => {
        current = nodes
        registry.reconfigure(connecting)
        topology.configure(nodes)
        registry.replace(nodes)
        layouts.refresh()
        if (discover !== undefined) setDiscovery(discover)
        if (changes.credentials !== undefined) contacts.probeAll()
      }
    },
    drains,
    contacts,
    status: () => topology.nodes().map((node) => statusOf(node, { topology, registry, layouts, passedOn, drains })),
    nodeList: {
      lastRead: () => discovery?.lastRead(),
      offer: (list, ago) => discovery?.offer(list, ago),
      observe: ({ endpoint: { listsNodes }, query }, { node, status, body }) => {
        if (listsNodes === undefined || !Object.keys(query).every((name) => listsNodes.includes(name))) return
        if (node === topology.master().name && status === 200 && Buffer.isBuffer(body)) discovery?.observe(body)
      },
    },
  }
}

function createView(
  layouts: Layouts,
  topology: Topology,
  registry: NodeRegistry,
  clock: () => number,
  requestRefresh: () => void,
): ClusterView {
  return {
    nodes: topology.nodes,
    find: (name) => {
      const found = topology.find(name)
      // An unknown name may be that of a new node.
      if (found === undefined && isNodeName(name)) requestRefresh()
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

interface ClusterParts {
  readonly topology: Topology
  readonly registry: NodeRegistry
  readonly layouts: Layouts
  readonly passedOn: PassedOnCalls
  readonly drains: Drains
}

function statusOf(
  { name, type, addressed }: NodeInfo,
  { topology, registry, layouts, passedOn, drains }: ClusterParts,
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
