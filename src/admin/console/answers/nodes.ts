/** What the console's API answers of the nodes and of the other replicas. Times in milliseconds, sizes in bytes. */
import type { Rates } from './now.ts'

export interface NodeLine {
  readonly name: string
  readonly type: 'master' | 'worker'
  readonly state: 'up' | 'ejected' | 'full' | 'no address' | 'not listed'
  readonly version?: string
  readonly inFlight: number
  readonly limit: number
  readonly queue: number
  /** Of the last five minutes. */
  readonly p50?: number
  readonly p99?: number
  readonly calls: number
  readonly errors: number
  readonly lastFailure?: { readonly fault: string; readonly detail: string; readonly ago: number }
  /** Milliseconds from now. */
  readonly ejectedFor?: number
}

/** An answer that was joined of what several nodes gave. */
export interface JoinedLine {
  readonly ago: number
  readonly route: string
  readonly ms: number
  readonly nodes: readonly ShareLine[]
}

/** What one node did for it. */
export interface ShareLine {
  readonly node: string
  /** On the page, and of how many; absent: it gave none. */
  readonly rows?: number
  readonly total?: number
  /** Absent: what it gave had been kept. */
  readonly ms?: number
  readonly error?: string
}

export interface ReplicaLine {
  readonly name: string
  readonly version: string
  readonly ago: number
  readonly ready: boolean
  readonly rates: Rates
  readonly nodes: readonly Pick<NodeLine, 'name' | 'state' | 'inFlight' | 'limit'>[]
  /** The newest first, as many as there was room for; absent: the replica is of a version that does not tell. */
  readonly joined?: readonly JoinedLine[]
}

export interface Nodes {
  readonly nodes: readonly NodeLine[]
  /** By this replica, the newest first. */
  readonly joined: readonly JoinedLine[]
  /** Beside this one. Absent: nothing is shared, so none can be known; `null`: Redis does not answer. */
  readonly replicas?: readonly ReplicaLine[] | null
}
