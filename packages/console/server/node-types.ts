/**
 * The nodes as the page of the console and `manager-edge drain` show them, and what a drain would mean for the others. Times
 * are milliseconds.
 */
import type { NodeContribution } from '../../../src/core/events.ts'
import type { NodeState, ReplicaSummary } from '../../../src/status/node-types.ts'

/** Rates over one period. The ratio and the latencies are absent if the period had no such request. */
export interface Rates {
  readonly perSecond: number
  /** Requests whose response the cache may have. Absent: a replica of an earlier version reports none. */
  readonly cacheablePerSecond?: number
  /** Hits divided by cacheable requests. */
  readonly hitRatio?: number
  readonly p50?: number
  readonly p99?: number
  readonly callsPerSecond: number
  /** Milliseconds of node time that cache hits saved, per second. */
  readonly savedPerSecond: number
  /** Responses with a 5xx status. */
  readonly failuresPerSecond: number
}

/** A response that the edge joined from the responses of several nodes. */
export interface JoinedResponse {
  readonly ago: number
  readonly route: string
  readonly ms: number
  readonly nodes: readonly NodePart[]
}

/** The contribution of one node to a joined response. Without `errorKind`: of an earlier release. */
export type NodePart = NodeContribution

/** Another replica, with what its console has added to its report. */
export interface ReportedReplica extends ReplicaSummary {
  readonly rates: Rates
  /** The newest joined responses, as many as fit. Absent if the version of the replica does not report them. */
  readonly joined?: readonly JoinedResponse[]
}

/** A node with its latencies and counts of calls of the last five minutes. */
export interface NodeSummary extends NodeState {
  readonly p50?: number
  readonly p99?: number
  /** Calls that were sent. */
  readonly calls: number
  /** Calls without a usable response. */
  readonly failed: number
  /** Responses with a status from 400. */
  readonly errorResponses: number
}

/** `GET /api/nodes`. */
export interface Nodes {
  readonly nodes: readonly NodeSummary[]
  /** The names of the nodes by the layout of their API, if they have different ones: writes are refused then. */
  readonly mixture?: Readonly<Partial<Record<'v3' | 'v4' | 'v5', readonly string[]>>>
  /** Joined responses of this replica, newest first. */
  readonly joined: readonly JoinedResponse[]
  /** The other replicas. Absent without Redis; `null` if Redis is unreachable. */
  readonly replicas?: readonly ReportedReplica[] | null
  /** Whether the operator who is signed in may drain nodes and put them back. */
  readonly mayDrain: boolean
  /** Whether a drain applies to all replicas. Without Redis it applies to this one, until it ends. */
  readonly drainsAreShared: boolean
  /** Length at most of the reason of a drain. */
  readonly maxReasonChars: number
}

/**
 * `failed`: there was no usable response. `answered`: the node answered with an error. `knownLimit`: rows that no node can
 * return, which is no fault (935).
 */
export type NodeErrorKind = NonNullable<NodePart['errorKind']>

/** The calls to a node of one replica in the last five minutes, and those that it gets if another node is drained. */
export interface ExpectedLoad {
  readonly node: string
  readonly callsPerMinute: number
  readonly expectedPerMinute: number
  readonly inFlight: number
  readonly limit: number
}

const COUNTED_MINUTES = 5

/** Assumes that the other nodes get equal shares of the calls. Requests that need `drained` fail instead. */
export function expectLoad(drained: NodeSummary, { nodes }: Pick<Nodes, 'nodes'>): readonly ExpectedLoad[] {
  const others = nodes.filter((node) => node.name !== drained.name && acceptsCalls(node))
  const share = drained.drain === undefined ? perMinute(drained) / Math.max(1, others.length) : 0
  return others.map((node) => ({
    node: node.name,
    callsPerMinute: round(perMinute(node)),
    expectedPerMinute: round(perMinute(node) + share),
    inFlight: node.inFlight,
    limit: node.limit,
  }))
}

/** Whether the edge sends calls to a node in this state, and the node has not failed. */
function acceptsCalls({ state }: Pick<NodeSummary, 'state'>): boolean {
  return state === 'up' || state === 'full' || state === 'not tried'
}

function perMinute({ calls }: NodeSummary): number {
  return calls / COUNTED_MINUTES
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}
