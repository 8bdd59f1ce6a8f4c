/**
 * Which replica sends the next probe. Each probe costs the node a call, so one replica sends them for all: the one that
 * called the node last. Another one takes over if it stops.
 */

/** What a replica reports to the others about its contact with the nodes. */
export interface PeerContact {
  /** Milliseconds between the latest response of a node and the report; absent: there was none. */
  readonly reachedAgo?: number
  /** Milliseconds since the report. */
  readonly ago: number
  /** Whether the latest call of the replica to each node failed. */
  readonly cutOff?: boolean
  /** Nodes whose latest call failed, with the milliseconds between that call and the report. */
  readonly failing?: readonly { readonly node: string; readonly ago: number }[]
}

/** Milliseconds. */
export interface ProbeTimes {
  /** Time between two rounds while a replica must find out by itself whether it reaches a node. */
  readonly interval: number
  /** For less urgent calls: a node handles few calls per second, and some accounts are locked after failed logins. */
  readonly slowInterval: number
  /** Time limit of a probe. */
  readonly timeout: number
  /** Age of the last call of another replica from which this one takes over: two reports and one probe more. */
  readonly takeover: number
}

export const PROBE_TIMES: ProbeTimes = { interval: 1000, slowInterval: 5000, timeout: 5000, takeover: 15_000 }

/**
 * Returns whether this replica sends the next probe. `ago`: milliseconds since its own last call; absent: there was none.
 * `others`: the same of each other replica that reports one.
 */
export function isOwnTurn(
  ago: number | undefined,
  others: readonly number[],
  { slowInterval, takeover }: ProbeTimes,
): boolean {
  const own = ago ?? Number.POSITIVE_INFINITY
  const latest = Math.min(Number.POSITIVE_INFINITY, ...others)
  return own >= slowInterval && latest >= (latest < own ? takeover : slowInterval)
}

/** Returns the milliseconds since the latest call of each peer to a node that fails for this peer too. */
export function failedCallsOf(peers: readonly PeerContact[], node: string): number[] {
  return peers.flatMap(({ failing = [], ago }) => failing.flatMap((each) => (each.node === node ? each.ago + ago : [])))
}

/** Returns the milliseconds since each peer got its latest response of a node. */
export function responsesTo(peers: readonly PeerContact[]): number[] {
  return peers.flatMap(({ reachedAgo, ago }) => (reachedAgo === undefined ? [] : reachedAgo + ago))
}
