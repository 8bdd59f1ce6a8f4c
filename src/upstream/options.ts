import type { NodeCallEvent } from '../core/events.ts'
import type { NodeFault } from '../core/node-call.ts'
import type { UntracedTraceparent } from './transport.ts'
/** What the cluster room is told at start. Times are milliseconds, sizes are bytes. */

export interface NodeSetting {
  readonly name: string
  readonly type: 'master' | 'worker'
  /** `http(s)://host:port` and nothing more. The only source of addresses: no URL comes from a client or a node. */
  readonly url: string
}

/** `service`: the edge's own account on the nodes. `passthrough`: those of the caller, in each call. */
export type NodeCredentials =
  | { readonly mode: 'service'; readonly username: string; readonly password: string }
  | { readonly mode: 'passthrough' }

/** PEM texts. Certificates of nodes are always verified; `servername` is the name to find in them instead of the host. */
export interface NodeTls {
  readonly ca?: string | Buffer
  readonly cert?: string | Buffer
  readonly key?: string | Buffer
  readonly servername?: string
}

export interface NodeLimits {
  /** Ceiling of calls in flight on one node. */
  readonly inFlight: number
  /** Calls that wait for one node. */
  readonly queue: number
  /** Calls in flight of one caller on one node while others wait for it. */
  readonly perCaller: number
  /** Deadline of the edge's own calls; those of clients bring theirs. */
  readonly timeout: number
  readonly connect: number
  /** Greatest answer. */
  readonly response: number
}

export interface EjectionSettings {
  /** Consecutive failures until a node is left alone. */
  readonly failures: number
  /** Consecutive refused connections: a refusal is certain, so fewer will do. */
  readonly refusals: number
  /** First time-out of an ejection; doubles up to `longest`. */
  readonly shortest: number
  readonly longest: number
}

export type ClusterLog = (level: 'info' | 'warn', message: string, fields: Readonly<Record<string, unknown>>) => void

export interface ClusterOptions {
  readonly nodes: readonly NodeSetting[]
  /** Learn names and versions from the master's `GET /cluster/nodes`. Not possible with `passthrough`. */
  readonly discover: boolean
  readonly discoverInterval?: number
  readonly credentials: NodeCredentials
  readonly tls?: NodeTls
  readonly limits?: Partial<NodeLimits>
  readonly ejection?: Partial<EjectionSettings>
  /** CIDRs that every address of a node must lie in, after DNS. Absent or empty: any. */
  readonly allowedAddresses?: readonly string[]
  readonly log?: ClusterLog
  /** Hears of each call when it is over. */
  readonly onCall?: (call: NodeCallEvent) => void
  /** There where requests are traced: what nodes are told of those that are not. */
  readonly untracedTraceparent?: UntracedTraceparent
  /** Monotonic milliseconds; for tests. */
  readonly clock?: () => number
}

export interface NodeStatus {
  readonly name: string
  readonly type: 'master' | 'worker'
  readonly addressed: boolean
  /** Was in the master's latest list; absent while there is none. */
  readonly listed?: boolean
  readonly inFlight: number
  /** Calls in flight that the node is trusted with at the moment. */
  readonly limit: number
  readonly queue: number
  /** Wall clock, milliseconds since 1970. */
  readonly ejectedUntil?: number
  readonly lastFailure?: { readonly fault: NodeFault; readonly detail: string; readonly at: number }
}

/** The options with every default filled in. */
export interface Settings extends Omit<ClusterOptions, 'limits' | 'ejection' | 'tls'> {
  readonly discoverInterval: number
  readonly tls: NodeTls
  readonly limits: NodeLimits
  readonly ejection: EjectionSettings
  readonly allowedAddresses: readonly string[]
  readonly log: ClusterLog
  readonly clock: () => number
}

export function withDefaults(options: ClusterOptions): Settings {
  return {
    ...options,
    discoverInterval: options.discoverInterval ?? 30_000,
    tls: options.tls ?? {},
    limits: {
      inFlight: 4,
      queue: 256,
      perCaller: 2,
      timeout: 20_000,
      connect: 3_000,
      response: 64 * 1024 * 1024,
      ...options.limits,
    },
    ejection: { failures: 5, refusals: 2, shortest: 1_000, longest: 30_000, ...options.ejection },
    allowedAddresses: options.allowedAddresses ?? [],
    log: options.log ?? (() => undefined),
    clock: options.clock ?? (() => performance.now()),
  }
}
