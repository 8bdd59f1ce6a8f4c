/**
 * Discovery: reads the nodes of the cluster from the master's list, periodically and on demand. A list costs the master
 * as much as any other request, so the whole edge reads one per interval: a list that another replica has read, or that
 * a client has requested, postpones the next one.
 */
import { Cancellation } from '../core/cancellation.ts'
import type { CallNode, NodeResponse, NodeResult } from '../core/node-call.ts'
import { describeFailure } from '../core/node-faults.ts'
import type { EdgeRequest } from '../core/request.ts'
import { withTimeout } from '../core/timing.ts'
import type { ClusterSettings } from './options.ts'
import { createOwnCall } from './probes.ts'
import {
  type ListedNode,
  parseNodeList,
  parsePublishedList,
  parseWholeNodeList,
  type ReadNodeList,
  type Topology,
} from './topology.ts'

/** Least time between two lists, so that clients that guess node names cause few calls. */
const MIN_REFRESH_INTERVAL_MS = 5_000
const FIRST_LIST_TIMEOUT_MS = 5_000
/**
 * The replica that read the latest list reads the next one. If it does not, another one does, after a random part of
 * the interval from this one on: the replicas must not all take over at once, and each needs time to publish its list.
 */
const MIN_TAKEOVER_SHARE = 0.25

interface DiscoveryPorts {
  readonly call: CallNode
  readonly topology: () => Topology
  /** Called with each list. `undefined`: from now on the nodes are those of the settings, until the next list. */
  readonly onList: (list: readonly ListedNode[] | undefined) => void
}

export class Discovery {
  readonly #settings: ClusterSettings
  readonly #ports: DiscoveryPorts
  #isOn: boolean
  #stopped = new Cancellation()
  #lastRefresh = Number.NEGATIVE_INFINITY
  /** When the list in use was read, by this replica or another one. */
  #listReadAt = Number.NEGATIVE_INFINITY
  /** The list that this replica has read last. */
  #ownList: { readonly nodes: readonly ListedNode[]; readonly readAt: number } | undefined
  #isRefreshing = false
  #isFailing = false
  #timer: NodeJS.Timeout | undefined

  constructor(settings: ClusterSettings, ports: DiscoveryPorts) {
    this.#settings = settings
    this.#ports = ports
    this.#isOn = this.#mayDiscover(settings.discover)
  }

  /** Starts the periodic refresh with a list that this replica reads by itself. Resolves after the first list, or after five seconds without one. */
  async start(): Promise<void> {
    if (this.#isOn) await withTimeout(this.#refresh(), FIRST_LIST_TIMEOUT_MS, undefined)
  }

  stop(): void {
    this.#isOn = false
    this.#stopped.abort()
    clearTimeout(this.#timer)
  }

  /** Uses the nodes of the settings, and reads the list again if discovery is on from now on. */
  restart(discover: boolean): void {
    this.stop()
    this.#ports.onList(undefined)
    this.#stopped = new Cancellation()
    this.#lastRefresh = Number.NEGATIVE_INFINITY
    this.#listReadAt = Number.NEGATIVE_INFINITY
    this.#ownList = undefined
    this.#isFailing = false
    this.#isOn = this.#mayDiscover(discover)
    void this.start()
  }

  #mayDiscover(discover: boolean): boolean {
    const { credentials, log } = this.#settings
    if (discover && credentials.mode !== 'service')
      log('warn', 'nodes are not discovered: that needs credentials of the edge', { setting: 'cluster.discover' })
    return discover && credentials.mode === 'service'
  }

  /** Refreshes the list in the background, because a request named an unknown node. The request does not wait. */
  requestRefresh(): void {
    if (this.#isRefreshing || !this.#isOn) return
    if (this.#settings.clock() - Math.max(this.#lastRefresh, this.#listReadAt) < MIN_REFRESH_INTERVAL_MS) return
    void this.#refresh()
  }

  /** Returns the list that this replica has read within the interval. */
  lastRead(): ReadNodeList | undefined {
    if (this.#ownList === undefined) return undefined
    const { nodes, readAt } = this.#ownList
    const ago = this.#settings.clock() - readAt
    return ago < this.#settings.discoverInterval ? { nodes, ago } : undefined
  }

  /** Takes a list that another replica published, if it is valid and younger than the list in use. */
  offer(published: unknown, publishedAgo: number): void {
    const list = parsePublishedList(published)
    if (list === undefined || !this.#isOn) return
    const ago = list.ago + Math.max(0, publishedAgo)
    const readAt = this.#settings.clock() - ago
    if (!(ago < this.#settings.discoverInterval) || readAt <= this.#listReadAt) return
    this.#takeList(list.nodes, readAt)
  }

  /** Takes the list from a response to the request of a client, if it is the whole list and comes from the master. */
  observe({ endpoint: { listsNodes }, query }: EdgeRequest, { node, status, body }: NodeResponse): void {
    if (!this.#isOn || listsNodes === undefined || !Object.keys(query).every((name) => listsNodes.includes(name)))
      return
    if (node !== this.#ports.topology().master.name || status !== 200 || !Buffer.isBuffer(body)) return
    const nodes = parseWholeNodeList(body)
    if (nodes !== undefined) this.#takeOwnList(nodes)
  }

  #takeOwnList(nodes: readonly ListedNode[]): void {
    this.#ownList = { nodes, readAt: this.#settings.clock() }
    this.#takeList(nodes, this.#ownList.readAt)
  }

  #takeList(nodes: readonly ListedNode[], readAt: number): void {
    const { log } = this.#settings
    const before = new Set(this.#ports.topology().list?.map(({ name }) => name))
    const listed = new Set(nodes.map(({ name }) => name))
    this.#isFailing = false
    this.#listReadAt = readAt
    this.#ports.onList(nodes)
    const added = [...listed].filter((name) => !before.has(name))
    const removed = [...before].filter((name) => !listed.has(name))
    if (added.length + removed.length > 0) log('info', 'nodes discovered', { added, removed })
    const master = nodes.find(({ type }) => type === 'master')?.name
    const configured = this.#ports.topology().master.name
    if (master !== undefined && master !== configured && added.includes(master)) {
      log('warn', 'the master has another name; use it in cluster.nodes', { configured, listed: master })
    }
    this.#schedule()
  }

  #schedule(): void {
    clearTimeout(this.#timer)
    if (!this.#isOn) return
    const { discoverInterval: interval, clock } = this.#settings
    const isOwn = (this.#ownList?.readAt ?? Number.NEGATIVE_INFINITY) >= this.#listReadAt
    const takeover = isOwn ? 0 : interval * (MIN_TAKEOVER_SHARE + (1 - MIN_TAKEOVER_SHARE) * Math.random())
    const due = Math.max(this.#lastRefresh, this.#listReadAt) + interval + takeover
    this.#timer = setTimeout(() => void this.#refresh(), Math.max(0, due - clock())).unref()
  }

  async #refresh(): Promise<void> {
    if (this.#isRefreshing) return
    this.#isRefreshing = true
    this.#lastRefresh = this.#settings.clock()
    const { signal } = this.#stopped
    try {
      const result = await this.#ports.call(
        createOwnCall({
          node: this.#ports.topology().master.name,
          path: '/cluster/nodes?limit=1000',
          endpoint: 'GET /cluster/nodes',
          timeout: this.#settings.limits().timeout,
          signal,
          caller: 'discovery',
          requestId: 'discovery',
        }),
      )
      if (!signal.aborted) this.#handleResult(result)
    } finally {
      this.#isRefreshing = false
      this.#schedule()
    }
  }

  #handleResult(result: NodeResult): void {
    // The known nodes stay in use until an operator puts the master back.
    if (!result.ok && result.fault === 'drained') return
    const body = result.ok && result.response.status === 200 ? result.response.body : undefined
    const list = Buffer.isBuffer(body) ? parseNodeList(body) : undefined
    if (list !== undefined) {
      this.#takeOwnList(list)
      // Not for the lists of clients, which may come every second: the next regular report has them.
      this.#settings.onListRead()
      return
    }
    // The known nodes stay in use. Only the first of consecutive failures is logged.
    if (!this.#isFailing) {
      const reason = result.ok ? 'the response is not a list of nodes' : `${result.fault}: ${describeFailure(result)}`
      this.#settings.log('warn', 'nodes not discovered', { node: this.#ports.topology().master.name, reason })
    }
    this.#isFailing = true
  }
}
