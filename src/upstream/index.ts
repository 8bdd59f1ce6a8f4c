/** The nodes of the cluster behind two interfaces of the core: calls to nodes, and a view of their state. */
import type { ClusterView, NodeInfo } from '../core/node-call.ts'
import { withTimeout } from '../core/timing.ts'
import { createView } from './cluster-view.ts'
import { ConnectedNodes, type ConnectionChanges } from './connected-nodes.ts'
import { Discovery } from './discovery.ts'
import { DRAINED, Drains } from './drains.ts'
import { NodeContacts } from './failure/node-contacts.ts'
import { PassedOnCalls } from './failure/passed-on-calls.ts'
import { Layouts } from './layouts.ts'
import { NodesInUse } from './nodes-in-use.ts'
import { type ClusterOptions, type NodeSetting, type NodeStatus, withDefaults } from './options.ts'

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
    prepare: ({ nodes = inUse.topology.settings, discover, ...changes }: ClusterChanges): (() => void) => {
      const connecting = connected.prepare(changes, nodes)
      return () => {
        connected.reconfigure(connecting)
        inUse.replace(nodes)
        layouts.refresh()
        if (discover !== undefined) discovery.restart(discover)
        if (changes.credentials !== undefined) contacts.probeAll()
      }
    },
    status: (): readonly NodeStatus[] => inUse.topology.nodes.map((node) => statusOf(node, parts)),
    /** Returns the milliseconds until the first node is tried again; `undefined`: at least one is not ejected. */
    outageFor: (): number | undefined => {
      const used = inUse.topology.nodes.filter(({ name, addressed }) => addressed && !drains.drained.has(name))
      const times = used.flatMap(({ name }) => connected.byName.get(name)?.health.ejection.remaining ?? [])
      return used.length === 0 || times.length < used.length ? undefined : Math.min(...times)
    },
  }
}

type Parts = ReturnType<typeof createParts>

function createParts(options: ClusterOptions) {
  const settings = withDefaults(options)
  const { log, clock, credentials, counters, peers, contactTimes: times } = settings
  const hasOwnCredentials = credentials.mode === 'service'
  const latestReleaseOf = (node: string) => view.releaseOf(node)
  const members = { nodes: () => inUse.topology.nodes, master: () => inUse.topology.master }
  const drains = new Drains({
    view: members,
    counters,
    areShared: options.counters !== undefined,
    verifiesUsersAtMaster: !hasOwnCredentials,
    log,
    onChange: (drained, putBack) => {
      // Calls in flight finish. The failures before a maintenance show nothing about the node after it.
      for (const name of drained) byName.get(name)?.limiter.rejectQueued(DRAINED)
      for (const name of putBack) byName.get(name)?.health.forget()
      layouts.updateDrains(putBack)
    },
  })
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
      if (view.versions.of(node) !== version) view.versions.note(node, version)
      inUse.update()
    },
    releaseOf: latestReleaseOf,
  })
  const patience = times.slowInterval * PATIENCE_INTERVALS
  const inUse = new NodesInUse(options.nodes, { connected, releaseOf: latestReleaseOf, clock, patience, log })
  connected.prepare({}, options.nodes)
  connected.replace(options.nodes)
  const { byName, call } = connected
  const layouts: Layouts = new Layouts({ settings, nodes: byName, view: members, drained })
  const discovery = new Discovery(settings, {
    call,
    topology: () => inUse.topology,
    onList: (list) => inUse.takeList(list),
  })
  const view: ClusterView = createView({ inUse, byName, layouts, discovery, settings })
  const contacts = new NodeContacts({ call, view, drained, nodes: byName, hasOwnCredentials, peers, clock, times })
  return { layouts, drains, passedOn, connected, contacts, discovery, view, inUse }
}

function statusOf({ name, type, addressed }: NodeInfo, parts: Parts): NodeStatus {
  const { inUse, connected, view, passedOn, drains } = parts
  const listed = inUse.topology.list?.some((node) => node.name === name)
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
