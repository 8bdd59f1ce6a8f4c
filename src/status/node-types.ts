/** Nodes and replicas as the reports and the console API have them. Times are milliseconds. */
import type { LocalState } from '../core/cache.ts'
import type { NodeStateName } from '../core/node-faults.ts'
import type { NodeLoad, PeerContact } from '../core/node-load.ts'

/** A node as this replica sees it. */
export interface NodeState extends NodeLoad {
  readonly state: NodeStateName
  readonly version?: string
  /** The layout of its API. Absent: not recognised yet, or the node has no address. */
  readonly layout?: 'v3' | 'v4'
  readonly lastFailure?: { readonly fault: string; readonly detail: string; readonly ago: number }
  /** Who has drained the node for maintenance. */
  readonly drain?: {
    readonly by: string
    readonly ago: number
    readonly reason?: string
    /** Time until the node is put back. Absent: an operator puts it back. */
    readonly endsIn?: number
  }
  /** Time until a node that is ejected or cut off is probed. */
  readonly ejectedFor?: number
}

/** `lastFailure` only of a node that is not up. */
export type ReportedNode = Pick<NodeState, 'name' | 'state' | 'inFlight' | 'limit' | 'lastFailure'>

export interface ReplicaSummary extends PeerContact {
  readonly name: string
  readonly version: string
  readonly ready: boolean
  /** It is being stopped. Absent: it is not, or its version does not report it. */
  readonly draining?: boolean
  /** How far its clock is ahead of that of this replica. Absent: the version of the replica does not report it. */
  readonly clockAhead?: number
  /** Its local tier. Absent: it stores nothing, or its version does not report it. */
  readonly local?: LocalState
  readonly nodes: readonly ReportedNode[]
  /** Rates of the last seconds, and the newest joined responses. Consoles add both, and validate those of other replicas. */
  readonly rates?: unknown
  readonly joined?: unknown
}

/** Response of `PUT` and `DELETE /api/nodes/:node/drain`. */
export interface DrainResult {
  readonly node: string
  readonly drained: boolean
  readonly reason?: string
  /** When the node is put back, in ISO 8601. */
  readonly until?: string
  /** `thisReplica`: there is no Redis. The drain ends with the process. */
  readonly appliesTo: 'allReplicas' | 'thisReplica'
}
