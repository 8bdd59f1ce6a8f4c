/**
 * Calls nodes whose state is unknown or bad. Each probe costs the node a call, so one replica sends them for all: the one
 * that called the node last. Another one takes over if it stops.
 */
import { withTimeout } from '../core/timing.ts'
import type { NodeContacts } from './node-contacts.ts'
import { callVersion } from './probes.ts'

/** Milliseconds. */
interface ProbeTimes {
  /** Time between two rounds while a replica must find out by itself whether it reaches a node. */
  readonly interval: number
  /** For less urgent calls: a node handles few calls per second, and some accounts are locked after failed logins. */
  readonly slowInterval: number
  /** Time limit of a probe. */
  readonly timeout: number
  /** Age of the last call of another replica from which this one takes over: two reports and one probe more. */
  readonly takeover: number
}

const PROBE_TIMES: ProbeTimes = { interval: 1000, slowInterval: 5000, timeout: 5000, takeover: 15_000 }

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
   * Nodes whose state is unknown or bad, and a good one if another replica must know whether it can be reached. One
   * replica calls them for all, with two exceptions: whether a replica is cut off, and whether its credentials are
   * accepted, only its own calls show.
   */
  #nodesToProbe(isUrgent: boolean): readonly string[] {
    const { inUse, refusing, failing, hasRead, reachedAgo, options } = this.#contacts
    if (!hasRead) return inUse
    const peers = options.peers()
    const isDue = ({ node, ago }: (typeof failing)[number]) => {
      const calls = peers.flatMap((peer) =>
        (peer.failing ?? []).flatMap((each) => (each.node === node ? each.ago + peer.ago : [])),
      )
      return !refusing.includes(node) && (isUrgent || this.#isOwnTurn(ago, calls))
    }
    const responses = peers.flatMap((peer) => (peer.reachedAgo === undefined ? [] : peer.reachedAgo + peer.ago))
    const isAsked = peers.some(({ cutOff }) => cutOff === true) && this.#isOwnTurn(reachedAgo, responses)
    const bad = [...refusing, ...failing.map(({ node }) => node)]
    const good = inUse.filter((name) => isAsked && !bad.includes(name)).slice(0, 1)
    return [...refusing, ...failing.filter(isDue).map(({ node }) => node), ...good]
  }

  /**
   * Returns whether this replica sends the next probe. `ago`: milliseconds since its own last call; absent: there was none.
   * `others`: the same of each other replica that reports one.
   */
  #isOwnTurn(ago = Number.POSITIVE_INFINITY, others: readonly number[]): boolean {
    const { slowInterval, takeover } = this.#times
    const latest = Math.min(Number.POSITIVE_INFINITY, ...others)
    return ago >= slowInterval && latest >= (latest < ago ? takeover : slowInterval)
  }
}
