/** The other nodes: their addresses, health and limits, behind two ports of the pipeline. */
import type { CallNode, ClusterView, NodeInfo } from '../core/node-call.ts'
import { Discovery } from './discovery.ts'
import { Roster } from './node-registry.ts'
import {
  type ClusterOptions,
  type NodeSetting,
  type NodeStatus,
  type NodeTls,
  type Settings,
  withDefaults,
} from './options.ts'
import { isNodeName, Topology } from './topology.ts'

export type { ClusterLog, ClusterOptions, NodeCredentials, NodeSetting, NodeStatus, NodeTls } from './options.ts'

export interface Cluster {
  readonly call: CallNode
  readonly view: ClusterView
  /** Waits for the first list of nodes, for a few seconds; a cluster that is away does not stop the start. */
  start(): Promise<void>
  /** Cuts what is still under way. */
  close(): Promise<void>
  /** Takes new settings over without a failed call; throws, and changes nothing, where they do not make a cluster. */
  setNodes(nodes: readonly NodeSetting[]): void
  /** New certificates for connections from now on. */
  setTls(tls: NodeTls): void
  status(): readonly NodeStatus[]
}

/** Throws for settings that cannot work, with the remedy. Opens no connection before `start` or the first call. */
export function createCluster(options: ClusterOptions): Cluster {
  const settings = withDefaults(options)
  const roster = new Roster(settings)
  roster.check(options.nodes)
  const topology = new Topology(options.nodes)
  roster.replace(options.nodes)
  const call: CallNode = (asked) =>
    roster.find(asked.node)?.call(asked) ??
    Promise.resolve({ ok: false, node: asked.node, fault: 'unreachable', sent: false, detail: 'no address is known' })
  const discovery = createDiscovery(settings, topology, call)
  return {
    call,
    view: createView(topology, roster, discovery),
    start: async () => discovery?.start(),
    close: async () => {
      discovery?.stop()
      await roster.destroy()
    },
    setNodes: (nodes) => {
      roster.check(nodes)
      topology.configure(nodes)
      roster.replace(nodes)
    },
    setTls: (tls) => roster.renew(tls),
    status: () => topology.nodes().map((node) => statusOf(node, topology, roster)),
  }
}

function createDiscovery(settings: Settings, topology: Topology, call: CallNode): Discovery | undefined {
  const { discover, credentials, log, clock, limits } = settings
  if (!discover) return undefined
  if (credentials.mode === 'passthrough') {
    log('warn', 'nodes are not discovered: that needs credentials of the edge', { setting: 'cluster.discover' })
    return undefined
  }
  return new Discovery({
    call,
    master: () => topology.master().name,
    learn: (list) => {
      const { came, went } = topology.learn(list)
      if (came.length + went.length > 0) log('info', 'nodes discovered', { came, went })
      const listed = list.find(({ type }) => type === 'master')?.name
      const configured = topology.master().name
      if (listed !== undefined && listed !== configured && came.includes(listed)) {
        log('warn', 'the master has another name; use it in cluster.nodes', { configured, listed })
      }
    },
    interval: settings.discoverInterval,
    timeout: limits.timeout,
    log,
    clock,
  })
}

function createView(topology: Topology, roster: Roster, discovery: Discovery | undefined): ClusterView {
  return {
    nodes: () => topology.nodes(),
    find: (name) => {
      const found = topology.find(name)
      if (found === undefined && isNodeName(name)) discovery?.hint()
      return found
    },
    master: () => topology.master(),
    isAvailable: (name) => roster.find(name)?.available ?? false,
    freeSlots: (name) => roster.find(name)?.spare ?? 0,
  }
}

function statusOf({ name, type, addressed }: NodeInfo, topology: Topology, roster: Roster): NodeStatus {
  const listed = topology.isListed(name)
  const state = roster.find(name)?.status() ?? { inFlight: 0, limit: 0, queue: 0 }
  return { name, type, addressed, ...(listed !== undefined && { listed }), ...state }
}
