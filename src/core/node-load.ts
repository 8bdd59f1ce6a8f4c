/** What replicas know of the nodes, and tell operators and each other. */

/** What a node has to do. */
export interface NodeLoad {
  readonly name: string
  readonly type: 'master' | 'worker'
  /** Calls of this replica. */
  readonly inFlight: number
  /** Current limit of concurrent calls of all replicas together. */
  readonly limit: number
  /** Slots of the limit that this replica may use now. */
  readonly slots: number
  readonly queue: number
  /** Calls of the last minute by all replicas, and how many the node answers. Absent: the node has no limit. */
  readonly budget?: { readonly used: number; readonly limit: number }
}

/** What a replica reports to the others about its contact with the nodes. */
export interface PeerContact {
  /** Milliseconds since the report. */
  readonly ago: number
  /** Nodes whose latest call failed, with the milliseconds between that call and the report. */
  readonly failing?: readonly LatestCall[]
  /** The same of the nodes that answered their latest call. Absent: the version of the replica does not report it. */
  readonly answered?: readonly LatestCall[]
}

/** The latest call of a replica to a node, which ended `ago` milliseconds before. */
export interface LatestCall {
  readonly node: string
  readonly ago: number
}
