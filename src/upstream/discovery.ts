/** Discovery: reads the nodes of the cluster from the master's `GET /cluster/nodes`, periodically and on demand. */
import type { CallNode, NodeCall, NodeResult } from '../core/node-call.ts'
import { withTimeout } from '../core/timing.ts'
import { ownField } from '../core/values.ts'
import type { ClusterLog, ClusterSettings } from './options.ts'
import { createOwnCall } from './own-call.ts'
import { isNodeName, type ListedNode, type Topology } from './topology.ts'

/** Least time between two lists, so that clients that guess node names cause few calls. */
const MIN_REFRESH_INTERVAL_MS = 5_000
const FIRST_LIST_TIMEOUT_MS = 5_000

export interface DiscoveryOptions {
  readonly call: CallNode
  /** Returns the name of the master. */
  readonly master: () => string
  readonly onList: (list: readonly ListedNode[]) => void
  readonly interval: number
  readonly timeout: number
  readonly log: ClusterLog
  readonly clock: () => number
}

/** Creates the discovery of a cluster, which updates the topology. Returns `undefined` if it is off or impossible. */
export function createDiscovery(
  { discover, credentials, discoverInterval: interval, limits, log, clock }: ClusterSettings,
  topology: Topology,
  call: CallNode,
): Discovery | undefined {
  if (!discover) return undefined
  if (credentials.mode === 'passthrough') {
    log('warn', 'nodes are not discovered: that needs credentials of the edge', { setting: 'cluster.discover' })
    return undefined
  }
  const onList = (list: readonly ListedNode[]) => {
    const { added, removed } = topology.updateList(list)
    if (added.length + removed.length > 0) log('info', 'nodes discovered', { added, removed })
    const listed = list.find(({ type }) => type === 'master')?.name
    const configured = topology.master().name
    if (listed !== undefined && listed !== configured && added.includes(listed)) {
      log('warn', 'the master has another name; use it in cluster.nodes', { configured, listed })
    }
  }
  return new Discovery({
    call,
    master: () => topology.master().name,
    onList,
    interval,
    get timeout() {
      return limits.timeout
    },
    log,
    clock,
  })
}

export class Discovery {
  readonly #options: DiscoveryOptions
  readonly #stopped = new AbortController()
  #lastRefresh = Number.NEGATIVE_INFINITY
  #isRefreshing = false
  #isFailing = false
  #timer: NodeJS.Timeout | undefined

  constructor(options: DiscoveryOptions) {
    this.#options = options
  }

  /** Starts the periodic refresh. Resolves after the first list, or after five seconds without one. */
  async start(): Promise<void> {
    await withTimeout(this.#refreshPeriodically(), FIRST_LIST_TIMEOUT_MS, undefined)
  }

  stop(): void {
    this.#stopped.abort()
    clearTimeout(this.#timer)
  }

  /** Refreshes the list in the background, because a request named an unknown node. The request does not wait. */
  requestRefresh(): void {
    if (this.#isRefreshing || this.#stopped.signal.aborted) return
    if (this.#options.clock() - this.#lastRefresh < MIN_REFRESH_INTERVAL_MS) return
    void this.#refresh()
  }

  async #refreshPeriodically(): Promise<void> {
    await this.#refresh()
    if (this.#stopped.signal.aborted) return
    this.#timer = setTimeout(() => void this.#refreshPeriodically(), this.#options.interval).unref()
  }

  async #refresh(): Promise<void> {
    if (this.#isRefreshing) return
    this.#isRefreshing = true
    this.#lastRefresh = this.#options.clock()
    try {
      this.#handleResult(await this.#options.call(this.#listCall()))
    } finally {
      this.#isRefreshing = false
    }
  }

  #handleResult(result: NodeResult): void {
    if (this.#stopped.signal.aborted) return
    const body = result.ok && result.response.status === 200 ? result.response.body : undefined
    const list = Buffer.isBuffer(body) ? parseNodeList(body) : undefined
    if (list !== undefined) {
      this.#isFailing = false
      this.#options.onList(list)
      return
    }
    // The known nodes stay in use. Only the first of consecutive failures is logged.
    if (!this.#isFailing) {
      const reason = result.ok ? 'the response is not a list of nodes' : `${result.fault}: ${result.detail}`
      this.#options.log('warn', 'nodes not discovered', { node: this.#options.master(), reason })
    }
    this.#isFailing = true
  }

  #listCall(): NodeCall {
    return createOwnCall({
      node: this.#options.master(),
      path: '/cluster/nodes?limit=1000',
      endpoint: 'GET /cluster/nodes',
      timeout: this.#options.timeout,
      signal: this.#stopped.signal,
      caller: 'discovery',
      requestId: 'discovery',
    })
  }
}

const MAX_LIST_BYTES = 1024 * 1024
const MAX_NODES = 1000
const VERSION = /^v?([0-9]{1,4}\.[0-9]{1,4}\.[0-9]{1,4})$/

/** Parses the response as foreign input; addresses in it are ignored. Returns `undefined` if it is not a list. */
export function parseNodeList(bytes: Buffer): readonly ListedNode[] | undefined {
  if (bytes.length > MAX_LIST_BYTES) return undefined
  const response = parseJson(bytes)
  if (ownField(response, 'error') !== 0) return undefined
  const items: unknown = ownField(ownField(response, 'data'), 'items')
  if (!Array.isArray(items) || items.length > MAX_NODES) return undefined
  return items.map(parseNode).filter((node) => node !== undefined)
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString())
  } catch {
    return undefined
  }
}

/** Returns `undefined` for an item that is not a node. */
function parseNode(item: unknown): ListedNode | undefined {
  const name = ownField(item, 'name')
  const type = ownField(item, 'type')
  const version = ownField(item, 'version')
  if (typeof name !== 'string' || !isNodeName(name) || (type !== 'master' && type !== 'worker')) return undefined
  const number = typeof version === 'string' ? VERSION.exec(version)?.[1] : undefined
  return { name, type, ...(number !== undefined && { version: number }) }
}
