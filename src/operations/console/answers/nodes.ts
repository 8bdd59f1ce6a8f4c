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

export interface ReplicaLine {
  readonly name: string
  readonly version: string
  readonly ago: number
  readonly ready: boolean
  readonly rates: Rates
  readonly nodes: readonly Pick<NodeLine, 'name' | 'state' | 'inFlight' | 'limit'>[]
}

export interface Nodes {
  readonly nodes: readonly NodeLine[]
  /** Beside this one. Absent: nothing is shared, so none can be known; `null`: Redis does not answer. */
  readonly replicas?: readonly ReplicaLine[] | null
}
