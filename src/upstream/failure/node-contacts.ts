/**
 * What the calls of this replica show about the nodes in use: whether each can be reached, and whether it accepts the
 * credentials of the edge; and the calls to nodes whose state is unknown or bad. Nodes in use have an address, and no
 * operator has drained them.
 */
import type { CallNode, ClusterView } from '../../core/node-call.ts'
import type { LatestCall, PeerContact } from '../../core/node-load.ts'
import type { DrainedNodes } from '../drains.ts'
import type { ContactTimes } from '../options.ts'
import { callVersion } from '../probes.ts'
import type { NodeContact } from './evidence.ts'
import type { NodeHealth } from './health.ts'

interface ContactOptions {
  readonly call: CallNode
  readonly view: Pick<ClusterView, 'nodes' | 'master' | 'layoutOf'>
  readonly drained: DrainedNodes
  /** The nodes with an address, by name. */
  readonly nodes: ReadonlyMap<string, { readonly health: Pick<NodeHealth, 'contact' | 'ejection'> }>
  /** Whether calls carry the credentials of the edge. With those of callers, only a response of a node counts. */
  readonly hasOwnCredentials: boolean
  /** Returns what the other replicas report; empty without Redis. */
  readonly peers: () => readonly PeerContact[]
  readonly clock: () => number
  readonly times: ContactTimes
}

const NEVER_MS = Number.POSITIVE_INFINITY

/** Returns the milliseconds since the latest of these calls of all replicas, by node. */
function agesByNode(replicas: readonly PeerContact[], kind: 'failing' | 'answered'): Map<string, number> {
  const ages = new Map<string, number>()
  for (const replica of replicas)
    for (const { node, ago } of replica[kind] ?? [])
      ages.set(node, Math.min(ages.get(node) ?? NEVER_MS, ago + replica.ago))
  return ages
}

/** Another replica must have reached a node this long after this one lost all of them: in an outage all lose them. */
const OUTAGE_MARGIN_MS = 1000
/**
 * Each probe costs the node a call, so one replica sends them for all: the one that called the node last. Another one takes
 * over if it stops.
 */
export class NodeContacts {
  readonly #options: ContactOptions
  readonly times: ContactTimes
  #hasRead = false
  readonly #calling = new Map<string, Promise<unknown>>()

  constructor(options: ContactOptions) {
    this.#options = options
    this.times = options.times
  }

  /** Whether a node was read once. With the credentials of callers, any response counts. */
  get hasRead(): boolean {
    const { hasOwnCredentials } = this.#options
    this.#hasRead ||= [...this.#contacts.values()].some(({ credentials, calledAt, failingSince }) =>
      hasOwnCredentials ? credentials === 'accepted' : calledAt !== undefined && failingSince === undefined,
    )
    return this.#hasRead
  }

  /** The nodes in use that refuse the credentials. */
  get refusing(): readonly string[] {
    return [...this.#contacts].flatMap(([node, { credentials }]) => (credentials === 'refused' ? [node] : []))
  }

  /** Whether the credentials are refused. The master decides; the workers only until it has answered. */
  get isRefused(): boolean {
    const contacts = this.#contacts
    const master = contacts.get(this.#options.view.master().name)?.credentials
    if (master !== undefined) return master === 'refused'
    return this.refusing.length > 0 && ![...contacts.values()].some(({ credentials }) => credentials === 'accepted')
  }

  /**
   * Whether all nodes fail, and another replica reports that a node has answered its latest call since then. A response
   * before a failure shows nothing about now: in an outage, each replica had its last one at another time.
   */
  get isCutOff(): boolean {
    const failed = this.#failedFor
    const reached = agesByNode(this.#options.peers(), 'answered').values()
    return failed !== undefined && Math.min(NEVER_MS, ...reached) + OUTAGE_MARGIN_MS < failed
  }

  /**
   * Returns what the latest call to each node showed: the one of this replica if it failed, otherwise the latest of all
   * replicas. Nodes that no replica has called are missing.
   */
  states(): ReadonlyMap<string, 'answered' | 'failing'> {
    const { failing, answered } = this.report()
    const peers = this.#options.peers()
    const [failed, reached] = [agesByNode(peers, 'failing'), agesByNode([...peers, { answered, ago: 0 }], 'answered')]
    const states = new Map<string, 'answered' | 'failing'>()
    for (const node of reached.keys()) states.set(node, 'answered')
    for (const [node, ago] of failed) if (ago < (reached.get(node) ?? NEVER_MS)) states.set(node, 'failing')
    for (const { node } of failing) states.set(node, 'failing')
    return states
  }

  readonly report = () => ({ failing: this.#latestCalls(true), answered: this.#latestCalls(false) })

  /** To be called when a node has answered a probe of its health: a call shows whether it accepts the credentials. */
  readonly probe = (node: string): Promise<unknown> =>
    callVersion(this.#options, { node, timeout: this.times.timeout, caller: 'readiness', anyToken: true })

  /**
   * To be called after a change of the credentials: they are tried at once. The result of the earlier ones is used until
   * these calls have one: the new ones may be wrong as well.
   */
  probeAll(): void {
    for (const node of this.#contacts.keys()) void this.probe(node)
  }

  /** Calls the nodes that are due. Resolves when those that are called, now or already, have answered. */
  callDue(): Promise<unknown> {
    for (const node of this.#nodesToCall()) {
      if (!this.#calling.has(node))
        this.#calling.set(
          node,
          this.probe(node).finally(() => this.#calling.delete(node)),
        )
    }
    return Promise.all(this.#calling.values())
  }

  /**
   * Nodes whose latest call is too old. One replica calls them for all, with two exceptions: whether a replica is cut off, and
   * whether its credentials are accepted, only its own calls show. While another replica reaches no node, the good ones are
   * called more often, so that it learns whether it alone is cut off.
   */
  #nodesToCall(): readonly string[] {
    const { peers, clock, nodes } = this.#options
    const { interval, slowInterval, idleInterval } = this.times
    const isUrgent = !this.isRefused && (!this.hasRead || this.#failedFor !== undefined)
    const reports = peers()
    const [failed, reached] = [agesByNode(reports, 'failing'), agesByNode(reports, 'answered')]
    const isAsked = reports.some(({ failing = [], answered = [] }) => failing.length > 0 && answered.length === 0)
    return [...this.#contacts.keys()].filter((node) => {
      const { ejection, contact } = nodes.get(node)?.health ?? {}
      // The call would not be sent.
      if (ejection?.isAdmitting === false) return false
      const { credentials, calledAt, failingSince } = contact ?? {}
      // The timer may be a little early.
      const ago = calledAt === undefined ? NEVER_MS : clock() - calledAt + interval / 10
      if (isUrgent) return ago >= interval
      if (credentials === 'refused' || !this.hasRead) return ago >= slowInterval
      const failedAgo = failed.get(node) ?? NEVER_MS
      if (failingSince !== undefined) return this.#isOwnTurn(slowInterval, ago, failedAgo)
      const reachedAgo = reached.get(node) ?? NEVER_MS
      if (isAsked && this.#isOwnTurn(slowInterval, ago, reachedAgo)) return true
      return this.#isOwnTurn(idleInterval, ago, Math.min(failedAgo, reachedAgo))
    })
  }

  /**
   * Returns whether this replica sends the next of the probes that have this interval. `ago`: milliseconds since its own
   * last call. `latest`: the same of the other replicas: it takes over from one whose last call is older by two slow intervals,
   * which are two reports and one probe more.
   */
  #isOwnTurn(interval: number, ago: number, latest: number): boolean {
    return ago >= interval && latest >= (latest < ago ? interval + 2 * this.times.slowInterval : interval)
  }

  /** The contacts with the nodes in use. A drained node shows nothing. */
  get #contacts(): ReadonlyMap<string, NodeContact> {
    const { view, drained, nodes } = this.#options
    const inUse = view.nodes().filter(({ name, addressed }) => addressed && !drained.has(name))
    return new Map(inUse.map(({ name }) => [name, nodes.get(name)?.health.contact ?? {}]))
  }

  #latestCalls(areFailing: boolean): readonly LatestCall[] {
    return [...this.#contacts].flatMap(([node, { calledAt, failingSince }]) => {
      if (calledAt === undefined || (failingSince !== undefined) !== areFailing) return []
      return [{ node, ago: this.#options.clock() - calledAt }]
    })
  }

  /** Milliseconds since all nodes fail; `undefined`: at least one does not, or was not called yet. */
  get #failedFor(): number | undefined {
    const since = [...this.#contacts.values()].map(({ failingSince }) => failingSince)
    if (since.length === 0 || since.some((each) => each === undefined)) return undefined
    return this.#options.clock() - Math.max(...since.map(Number))
  }
}
