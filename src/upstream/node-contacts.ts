/**
 * What the calls of this replica show about the nodes in use: whether each can be reached, and whether it accepts the
 * credentials of the edge; and the calls to nodes whose state is unknown or bad. Nodes in use have an address, and no
 * operator has drained them.
 */
import { type NodeCallEvent, UNSENT_FAULTS } from '../core/events.ts'
import { faultRules } from '../core/node-faults.ts'
import { withTimeout } from '../core/timing.ts'
import type { Cluster } from './index.ts'
import { callVersion } from './probes.ts'

/** What a replica reports to the others about its contact with the nodes. */
export interface PeerContact {
  /** Milliseconds between the latest response of a node and the report; absent: there was none. */
  readonly reachedAgo?: number
  /** Milliseconds since the report. */
  readonly ago: number
  /** Whether the latest call of the replica to each node failed. */
  readonly cutOff?: boolean
  /** Nodes whose latest call failed, with the milliseconds between that call and the report. */
  readonly failing?: readonly LatestCall[]
  /** The same of the nodes that answered their latest call. Absent: the version of the replica does not report it. */
  readonly answered?: readonly LatestCall[]
}

/** The latest call of a replica to a node, which ended `ago` milliseconds before. */
interface LatestCall {
  readonly node: string
  readonly ago: number
}

export interface ContactOptions {
  readonly cluster: Cluster
  /** Whether calls carry the credentials of the edge. With those of callers, only a response of a node counts. */
  readonly hasOwnCredentials: boolean
  /** Returns what the other replicas report; empty without Redis. */
  readonly peers: () => readonly PeerContact[]
  readonly clock?: () => number
}

/** The result of the latest call to a node, without calls that are no evidence about the node. */
interface NodeContact {
  calledAt?: number
  credentials?: 'accepted' | 'refused'
  reachedAt?: number
  /** When the first of the latest failures ended; absent after a response. */
  failingSince?: number | undefined
}

/** Returns the milliseconds since the latest of these calls of all replicas, by node. */
function agesByNode(replicas: readonly PeerContact[], kind: 'failing' | 'answered'): Map<string, number> {
  const ages = new Map<string, number>()
  for (const replica of replicas)
    for (const { node, ago } of replica[kind] ?? [])
      ages.set(node, Math.min(ages.get(node) ?? Number.POSITIVE_INFINITY, ago + replica.ago))
  return ages
}

/** Another replica must have reached a node this long after this one lost all of them: in an outage all lose them. */
const OUTAGE_MARGIN_MS = 1000
/** The node answers so before it checks the credentials. */
const TOO_MANY_REQUESTS = 429

export class NodeContacts {
  /** A node was read once. */
  hasRead = false
  readonly options: ContactOptions
  readonly clock: () => number
  readonly #contacts = new Map<string, NodeContact>()

  constructor(options: ContactOptions) {
    this.options = options
    this.clock = options.clock ?? (() => performance.now())
    // After a maintenance, what was known of the node before is outdated.
    options.cluster.drains.onChange(({ drained, putBack }) => {
      for (const name of [...drained, ...putBack]) this.#contacts.delete(name)
    })
  }

  get inUse(): readonly string[] {
    const { view, drains } = this.options.cluster
    return view.nodes().flatMap(({ name, addressed }) => (addressed && !drains.has(name) ? [name] : []))
  }

  /** The nodes in use whose latest call failed. */
  get failing(): readonly LatestCall[] {
    return this.#latestCalls(({ failingSince }) => failingSince !== undefined)
  }

  /** The nodes in use that answered their latest call. */
  get answered(): readonly LatestCall[] {
    return this.#latestCalls(({ failingSince }) => failingSince === undefined)
  }

  /**
   * Returns what the latest call to each node showed: the one of this replica if it failed, otherwise the latest of all
   * replicas. Nodes that no replica has called are missing.
   */
  states(): ReadonlyMap<string, 'answered' | 'failing'> {
    const { failing, answered, options } = this
    const peers = options.peers()
    const [failed, reached] = [agesByNode(peers, 'failing'), agesByNode([...peers, { answered, ago: 0 }], 'answered')]
    const states = new Map<string, 'answered' | 'failing'>()
    for (const node of reached.keys()) states.set(node, 'answered')
    for (const [node, ago] of failed)
      if (ago < (reached.get(node) ?? Number.POSITIVE_INFINITY)) states.set(node, 'failing')
    for (const { node } of failing) states.set(node, 'failing')
    return states
  }

  #latestCalls(has: (contact: NodeContact) => boolean): readonly LatestCall[] {
    return this.inUse.flatMap((node) => {
      const contact = this.#contacts.get(node)
      if (contact?.calledAt === undefined || !has(contact)) return []
      return [{ node, ago: this.clock() - contact.calledAt }]
    })
  }

  get refusing(): readonly string[] {
    return this.inUse.filter((name) => this.#contacts.get(name)?.credentials === 'refused')
  }

  /** Whether the credentials are refused. The master decides; the workers only until it has answered. */
  get isRefused(): boolean {
    const master = this.#contacts.get(this.options.cluster.view.master().name)?.credentials
    if (master !== undefined) return master === 'refused'
    return this.refusing.length > 0 && !this.#known.some(({ credentials }) => credentials === 'accepted')
  }

  /** Milliseconds since all nodes fail; `undefined`: at least one does not, or was not called yet. */
  get failedFor(): number | undefined {
    const since = this.#known.map(({ failingSince }) => failingSince)
    if (since.length === 0 || since.some((each) => each === undefined)) return undefined
    return this.clock() - Math.max(...since.map(Number))
  }

  /** Milliseconds since the latest response of a node. */
  get reachedAgo(): number | undefined {
    const times = this.#known.flatMap(({ reachedAt }) => reachedAt ?? [])
    return times.length === 0 ? undefined : this.clock() - Math.max(...times)
  }

  /** Whether all nodes fail, and another replica reaches one. */
  get isCutOff(): boolean {
    const failed = this.failedFor
    if (failed === undefined) return false
    return this.options
      .peers()
      .some((peer) => peer.reachedAgo !== undefined && peer.reachedAgo + peer.ago + OUTAGE_MARGIN_MS < failed)
  }

  /** For the report of this replica. */
  readonly report = (): Omit<PeerContact, 'ago'> => {
    const { reachedAgo, failing, answered } = this
    return { ...(reachedAgo !== undefined && { reachedAgo }), cutOff: this.failedFor !== undefined, failing, answered }
  }

  /** To be called when a node is ejected: no call may end soon that shows its failure. */
  readonly onEject = (node: string): void => {
    const contact = this.#contacts.get(node) ?? {}
    const now = this.clock()
    this.#contacts.set(node, { ...contact, calledAt: now, failingSince: contact.failingSince ?? now })
  }

  readonly onNodeCall = ({ node, status, fault, isPassedOn }: NodeCallEvent): void => {
    // The node did not receive the call, or the client disconnected: such calls are no evidence about the node.
    if (fault !== undefined && (UNSENT_FAULTS.includes(fault) || (fault === 'timeout' && isPassedOn))) return
    const contact = this.#contacts.get(node) ?? {}
    this.#contacts.set(node, contact)
    contact.calledAt = this.clock()
    if (fault !== undefined && faultRules[fault].health !== 'success') {
      contact.failingSince ??= this.clock()
      return
    }
    contact.failingSince = undefined
    contact.reachedAt = this.clock()
    if (!this.options.hasOwnCredentials) this.hasRead = true
    else if (fault === 'refusedCredentials') contact.credentials = 'refused'
    else if (status !== undefined && status < 500 && status !== TOO_MANY_REQUESTS) {
      contact.credentials = 'accepted'
      this.hasRead = true
    }
  }

  get #known(): readonly NodeContact[] {
    return this.inUse.map((name) => this.#contacts.get(name) ?? {})
  }
}

/** Milliseconds. */
interface ProbeTimes {
  /** Time between two rounds while a replica must find out by itself whether it reaches a node. */
  readonly interval: number
  /** For less urgent calls: a node handles few calls per second, and some accounts are locked after failed logins. */
  readonly slowInterval: number
  /** Time limit of a probe. */
  readonly timeout: number
  /** Age of the last call from which a node that answered is called again: nothing else would show that it fails. */
  readonly idleInterval: number
  /** How much older the last call of another replica must be before this one takes over: two reports and one probe more. */
  readonly takeover: number
}

const PROBE_TIMES: ProbeTimes = {
  interval: 1000,
  slowInterval: 5000,
  timeout: 5000,
  idleInterval: 15_000,
  takeover: 10_000,
}

/**
 * Each probe costs the node a call, so one replica sends them for all: the one that called the node last. Another one takes
 * over if it stops.
 */
export class ContactProbes {
  readonly #contacts: NodeContacts
  readonly #times: ProbeTimes
  #timer: NodeJS.Timeout | undefined
  #probing: Promise<unknown> | undefined
  #lastProbe = Number.NEGATIVE_INFINITY

  constructor(contacts: NodeContacts, times = PROBE_TIMES) {
    this.#contacts = contacts
    this.#times = times
  }

  /** Probes from now on where it is necessary. Resolves after the first responses, at most a second. */
  readonly start = async (): Promise<void> => {
    const { interval } = this.#times
    this.#timer = setInterval(() => void this.#probeIfNeeded(), interval).unref()
    await withTimeout(this.#probeIfNeeded(), interval, undefined)
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  /** To be called when a node has answered a probe of its health: a call shows whether it accepts the credentials. */
  readonly probe = (node: string): Promise<unknown> => {
    const { timeout } = this.#times
    return callVersion(this.#contacts.options.cluster, { node, timeout, caller: 'readiness' })
  }

  /**
   * To be called after a change of the credentials: they are tried at once. The result of the earlier ones is used until
   * these calls have one: the new ones may be wrong as well.
   */
  readonly probeAll = (): void => {
    this.#lastProbe = Number.NEGATIVE_INFINITY
    for (const node of this.#contacts.inUse) void this.probe(node)
  }

  #probeIfNeeded(): Promise<unknown> {
    const { clock, isRefused, hasRead, failedFor } = this.#contacts
    const { interval, slowInterval } = this.#times
    const isUrgent = !isRefused && (!hasRead || failedFor !== undefined)
    const isDue = clock() - this.#lastProbe >= (isUrgent ? interval : slowInterval) - 1
    const nodes = isDue && this.#probing === undefined ? this.#nodesToProbe(isUrgent) : []
    if (nodes.length > 0) {
      this.#lastProbe = clock()
      this.#probing = Promise.all(nodes.map(this.probe)).finally(() => {
        this.#probing = undefined
      })
    }
    return this.#probing ?? Promise.resolve()
  }

  /**
   * Nodes whose state is unknown or bad, those without calls of late, and a good one if another replica must know whether
   * it can be reached. One replica calls them for all, with two exceptions: whether a replica is cut off, and whether its
   * credentials are accepted, only its own calls show.
   */
  #nodesToProbe(isUrgent: boolean): readonly string[] {
    const { inUse, refusing, failing, answered, hasRead, reachedAgo, options } = this.#contacts
    const { slowInterval, idleInterval } = this.#times
    if (!hasRead) return inUse
    const peers = options.peers()
    const [failed, reached] = [agesByNode(peers, 'failing'), agesByNode(peers, 'answered')]
    const isDue = ({ node, ago }: LatestCall) =>
      !refusing.includes(node) && (isUrgent || this.#isOwnTurn(slowInterval, ago, failed.get(node)))
    const ownCalls = new Map(answered.map(({ node, ago }) => [node, ago]))
    const isIdle = (node: string) => {
      const latest = Math.min(
        failed.get(node) ?? Number.POSITIVE_INFINITY,
        reached.get(node) ?? Number.POSITIVE_INFINITY,
      )
      return this.#isOwnTurn(idleInterval, ownCalls.get(node), latest)
    }
    const responses = peers.flatMap((peer) => (peer.reachedAgo === undefined ? [] : peer.reachedAgo + peer.ago))
    const isAsked =
      peers.some(({ cutOff }) => cutOff === true) && this.#isOwnTurn(slowInterval, reachedAgo, Math.min(...responses))
    const bad = [...refusing, ...failing.map(({ node }) => node)]
    const good = inUse.filter((name) => !bad.includes(name))
    const probed = good.filter((name, at) => (at === 0 && isAsked) || isIdle(name))
    return [...refusing, ...failing.filter(isDue).map(({ node }) => node), ...probed]
  }

  /**
   * Returns whether this replica sends the next of the probes that have this interval. `ago`: milliseconds since its own
   * last call; absent: there was none. `latest`: the same of the other replicas.
   */
  #isOwnTurn(interval: number, ago = Number.POSITIVE_INFINITY, latest = Number.POSITIVE_INFINITY): boolean {
    return ago >= interval && latest >= (latest < ago ? interval + this.#times.takeover : interval)
  }
}
