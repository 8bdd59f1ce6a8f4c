/**
 * Whether balancers should send requests to this replica. It is not ready until a node was read once, while the manager
 * refuses the credentials, while it drains, and while it cannot reach any node but other replicas can. If no replica can
 * reach a node, all of them stay ready: they serve stale responses, and errors that name the fault.
 */
import { type Degradation, NOT_READY, type Readiness } from '../admin/listener.ts'
import { type NodeCallEvent, UNSENT_FAULTS } from '../core/events.ts'
import { withTimeout } from '../core/timing.ts'
import type { Cluster } from '../upstream/index.ts'
import { callVersion } from './cluster.ts'
import { failedCallsOf, isOwnTurn, type PeerContact, PROBE_TIMES, type ProbeTimes, responsesTo } from './probe-turns.ts'

export interface ReadinessOptions {
  readonly cluster: Cluster
  /** Whether calls carry the credentials of the edge. With those of callers, only a response of a node counts. */
  readonly hasOwnCredentials: () => boolean
  readonly isDraining: () => boolean
  /** What the other replicas report; empty without Redis. */
  readonly peers: () => readonly PeerContact[]
  /** What else is degraded. */
  readonly degraded: () => readonly Degradation[]
  readonly clock?: () => number
  readonly times?: ProbeTimes
}

export interface ReplicaReadiness {
  current(): Readiness
  /** For the report of this replica. */
  contact(): Omit<PeerContact, 'ago'>
  onNodeCall(call: NodeCallEvent): void
  /** To be called when a node is ejected: no call may end soon that shows its failure. */
  onEject(node: string): void
  /** To be called when a node has answered a probe of the edge: a call shows whether it accepts the credentials. */
  onRecover(node: string): void
  /** To be called after a change of the credentials: they are tried at once. */
  credentialsChanged(): void
  /** Calls nodes from now on while their state is unknown or bad. Resolves after the first responses, at most a second. */
  start(): Promise<void>
  stop(): void
}

/** The result of the latest call to a node, without calls that are no evidence about the node. */
interface NodeContact {
  calledAt?: number
  credentials?: 'accepted' | 'refused'
  reachedAt?: number
  /** When the first of the latest failures ended; absent after a response. */
  failingSince?: number | undefined
}

/** Another replica must have reached a node this long after this one lost all of them: in an outage all lose them. */
const OUTAGE_MARGIN_MS = 1000
/** The node answers so before it checks the credentials. */
const TOO_MANY_REQUESTS = 429

export function createReadiness(options: ReadinessOptions): ReplicaReadiness {
  const {
    cluster,
    hasOwnCredentials,
    isDraining,
    peers,
    clock = () => performance.now(),
    times = PROBE_TIMES,
  } = options
  const contacts = new Map<string, NodeContact>()
  let hasRead = false
  let timer: NodeJS.Timeout | undefined
  let probing: Promise<unknown> | undefined
  let lastProbe = Number.NEGATIVE_INFINITY

  /** Nodes in use: those with an address that no operator has drained. */
  const inUse = (): string[] =>
    cluster.view.nodes().flatMap(({ name, addressed }) => (addressed && !cluster.drains.has(name) ? [name] : []))
  // After a maintenance, what was known of the node before is outdated.
  cluster.drains.onChange(({ drained, putBack }) => {
    for (const name of [...drained, ...putBack]) contacts.delete(name)
  })
  const contactsOfNodes = (): NodeContact[] => inUse().map((name) => contacts.get(name) ?? {})

  /** Returns the milliseconds since all nodes fail; `undefined`: at least one does not, or was not called yet. */
  function failedFor(): number | undefined {
    const since = contactsOfNodes().map(({ failingSince }) => failingSince)
    if (since.length === 0 || since.some((each) => each === undefined)) return undefined
    return clock() - Math.max(...since.map(Number))
  }

  function reachedAgo(): number | undefined {
    const times = contactsOfNodes().flatMap(({ reachedAt }) => reachedAt ?? [])
    return times.length === 0 ? undefined : clock() - Math.max(...times)
  }

  /** The master decides; the workers only until it has answered. */
  function isRefused(): boolean {
    const master = contacts.get(cluster.view.master().name)?.credentials
    if (master !== undefined) return master === 'refused'
    const known = contactsOfNodes().map(({ credentials }) => credentials)
    return known.includes('refused') && !known.includes('accepted')
  }

  function othersReachNodes(): boolean {
    const failed = failedFor()
    if (failed === undefined) return false
    return peers().some(
      (peer) => peer.reachedAgo !== undefined && peer.reachedAgo + peer.ago + OUTAGE_MARGIN_MS < failed,
    )
  }

  function degradations(): Degradation[] {
    const known = contactsOfNodes()
    const failing = known.filter(({ failingSince }) => failingSince !== undefined).length
    const refusing = known.filter(({ credentials }) => credentials === 'refused').length
    const nodes = `${failing} of ${known.length} nodes cannot be reached`
    const found: Degradation[] = []
    const addressed = cluster.view.nodes().filter((node) => node.addressed)
    const drained = addressed.filter(({ name }) => cluster.drains.has(name)).length
    if (drained > 0) {
      const detail = `${drained} of ${addressed.length} nodes are drained for maintenance`
      found.push({ reason: 'nodeDrained', detail })
    }
    if (failing > 0) found.push({ reason: failing === known.length ? 'noNode' : 'nodeUnreachable', detail: nodes })
    if (refusing > 0)
      found.push({
        reason: 'credentialsRefused',
        detail: `${refusing} of ${known.length} nodes refuse the credentials`,
      })
    return [...found, ...options.degraded()]
  }

  function failing(): { readonly node: string; readonly ago: number }[] {
    return inUse().flatMap((node) => {
      const { failingSince, calledAt } = contacts.get(node) ?? {}
      return failingSince === undefined || calledAt === undefined ? [] : [{ node, ago: clock() - calledAt }]
    })
  }

  /**
   * Nodes whose state is unknown or bad, and a good one if another replica must know whether it can be reached. One
   * replica calls them for all, with two exceptions: whether a replica is cut off, and whether its credentials are
   * accepted, only its own calls show.
   */
  function nodesToProbe(isUrgent: boolean): readonly string[] {
    const names = inUse()
    if (!hasRead) return names
    const refused = names.filter((name) => contacts.get(name)?.credentials === 'refused')
    const failed = failing().filter(({ node }) => !refused.includes(node))
    const due = failed.filter(({ node, ago }) => isUrgent || isOwnTurn(ago, failedCallsOf(peers(), node), times))
    const isAsked =
      peers().some(({ cutOff }) => cutOff === true) && isOwnTurn(reachedAgo(), responsesTo(peers()), times)
    const good = names.filter((name) => isAsked && contacts.get(name)?.failingSince === undefined)
    return [...refused, ...due.map(({ node }) => node), ...good.filter((name) => !refused.includes(name)).slice(0, 1)]
  }

  function probeIfNeeded(): Promise<unknown> {
    const isUrgent = !isRefused() && (!hasRead || failedFor() !== undefined)
    const isDue = clock() - lastProbe >= (isUrgent ? times.interval : times.slowInterval) - 1
    const nodes = isDue && probing === undefined ? nodesToProbe(isUrgent) : []
    if (nodes.length > 0) {
      lastProbe = clock()
      probing = Promise.all(
        nodes.map((node) => callVersion(cluster, { node, timeout: times.timeout, caller: 'readiness' })),
      ).finally(() => {
        probing = undefined
      })
    }
    return probing ?? Promise.resolve()
  }

  return {
    current: () => {
      const reasons = [
        ...(isDraining() ? [NOT_READY.draining] : []),
        ...(isRefused() ? [NOT_READY.credentialsRefused] : hasRead ? [] : [NOT_READY.noNodeYet]),
        ...(othersReachNodes() ? [NOT_READY.cutOff] : []),
      ]
      return { ok: reasons.length === 0, reasons, degraded: degradations() }
    },
    contact: () => {
      const ago = reachedAgo()
      return { ...(ago !== undefined && { reachedAgo: ago }), cutOff: failedFor() !== undefined, failing: failing() }
    },
    onEject: (node) => {
      const contact = contacts.get(node) ?? {}
      contacts.set(node, { ...contact, calledAt: clock(), failingSince: contact.failingSince ?? clock() })
    },
    onRecover: (node) => void callVersion(cluster, { node, timeout: times.timeout, caller: 'readiness' }),
    onNodeCall: ({ node, status, fault }) => {
      // The node did not receive the call, or the client disconnected: such calls are no evidence about the node.
      if (fault !== undefined && UNSENT_FAULTS.includes(fault)) return
      const contact = contacts.get(node) ?? {}
      contacts.set(node, contact)
      contact.calledAt = clock()
      if (status === undefined && fault !== 'refusedCredentials' && fault !== 'tooLarge') {
        contact.failingSince ??= clock()
        return
      }
      contact.failingSince = undefined
      contact.reachedAt = clock()
      if (!hasOwnCredentials()) hasRead = true
      else if (fault === 'refusedCredentials') contact.credentials = 'refused'
      else if (status !== undefined && status < 500 && status !== TOO_MANY_REQUESTS) {
        contact.credentials = 'accepted'
        hasRead = true
      }
    },
    credentialsChanged: () => {
      lastProbe = Number.NEGATIVE_INFINITY
      // The result of the earlier credentials is used until these calls have one: the new ones may be wrong as well.
      for (const node of inUse()) void callVersion(cluster, { node, timeout: times.timeout, caller: 'readiness' })
    },
    start: async () => {
      timer = setInterval(() => void probeIfNeeded(), times.interval).unref()
      await withTimeout(probeIfNeeded(), times.interval, undefined)
    },
    stop: () => clearInterval(timer),
  }
}
