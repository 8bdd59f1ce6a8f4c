/**
 * Options and state of the upstream room. Times are in milliseconds, sizes in bytes.
 * Over 200 lines: the vocabulary of options.
 */

import type { HasEnded } from '../core/access.ts'
import { type Counters, createCounters } from '../core/counters.ts'
import type { LayoutChange, NodeCallEvent } from '../core/events.ts'
import type { Layout, SharedSlots } from '../core/node-call.ts'
import type { NodeFault } from '../core/node-faults.ts'
import type { NodeLoad, PeerContact } from '../core/node-load.ts'
import { systemClock } from '../core/timing.ts'
import type { Drain } from './drain-state.ts'

export interface NodeSetting {
  readonly name: string
  readonly type: 'master' | 'worker'
  /** `http(s)://host:port` and nothing more. The only source of addresses: neither clients nor nodes supply a URL. */
  readonly url: string
}

/** `service`: the edge's account on the nodes. `passthrough`: each call carries the credentials of its caller. */
export type NodeCredentials =
  | { readonly mode: 'service'; readonly username: string; readonly password: string }
  | { readonly mode: 'passthrough' }

/** PEM texts. Certificates of nodes are always verified; `servername` replaces the host name in that check. */
export interface NodeTls {
  readonly ca?: string | Buffer
  readonly cert?: string | Buffer
  readonly key?: string | Buffer
  readonly servername?: string
}

/** The setting `cluster.limits`. */
export interface NodeLimits {
  /** Upper bound of concurrent calls to one node, for all replicas together. */
  readonly inFlight: number
  /** Greatest number of queued calls of one node. */
  readonly queue: number
  /** Calls to one node per minute, for all replicas together; 0: no limit. Absent: the default of its layout. */
  readonly perMinute?: number
  /** Timeout of the edge's own calls; calls of clients bring their own. */
  readonly timeout: number
  /** Greatest size of a response. */
  readonly response: number
}

/** When the calls of clients eject a node. */
interface FailureSettings {
  /** Consecutive failures after which a node is ejected. */
  readonly failures: number
  /** Consecutive refused connections after which a node is ejected: fewer, since a refusal is unambiguous. */
  readonly refusals: number
  /** Consecutive responses after which a node is ejected because the process that carries out its calls hangs. */
  readonly hangs: number
  /** Duration of the first ejection. It doubles with each further one, up to `maxTime`. */
  readonly baseTime: number
  readonly maxTime: number
  /** The most for all calls of a node: within this time, the end of an outage is noticed. */
  readonly maxOutageTime: number
}

export interface EjectionSettings extends FailureSettings {
  /** When a node that answers nothing is found, and when it is tried again. All in milliseconds. */
  readonly silence: {
    /**
     * A node is probed if it has calls in flight and has answered nothing for twice their usual time, but at least and at
     * most this long.
     */
    readonly minWait: number
    readonly maxWait: number
    /** Time limit of a probe. */
    readonly probeTimeout: number
    /** Probes without a response, one after another, after which the node is ejected. */
    readonly probes: number
    /** Pause between two probes of a silent node. */
    readonly pause: number
  }
  /** When a node that blocks the address of the edge is tried again. All in milliseconds. */
  readonly block: {
    /** Time between two checks whether the node may be tried again. */
    readonly interval: number
    /** Bounds of the time between two attempts of all replicas together. It is half of the time that the block lasts. */
    readonly minPause: number
    readonly maxPause: number
  }
  /** How long calls fail at once that other nodes pass on to this one, after one of them hung. */
  readonly cutOff: Pick<FailureSettings, 'baseTime' | 'maxTime'>
}

/** When nodes are called that no client calls. All in milliseconds. */
export interface ContactTimes {
  /** Time between two rounds while a replica must find out by itself whether it reaches a node. */
  readonly interval: number
  /** For less urgent calls: a node handles few calls per second, and some accounts are locked after failed logins. */
  readonly slowInterval: number
  /** Time limit of a probe. */
  readonly timeout: number
  /** Age of the last call from which a node that answered is called again: nothing else would show that it fails. */
  readonly idleInterval: number
}

export type ClusterLog = (level: 'info' | 'warn', message: string, fields: Readonly<Record<string, unknown>>) => void

/** Returns the `traceparent` that nodes receive with calls of a request without a span; `undefined`: no header. */
export type UntracedTraceparent = (requestId: string) => string | undefined

export interface ClusterOptions {
  readonly nodes: readonly NodeSetting[]
  /** The layout of the API of all nodes; `auto`: recognised for each. Absent: v3. */
  readonly layout?: Layout | 'auto'
  /** With `auto`: called when the layout of a node is recognised, and when the node has another one than before. */
  readonly onLayoutChange?: (change: LayoutChange) => void
  /** With `auto`: time between two calls to a node whose layout is known. */
  readonly layoutInterval?: number
  /** Whether to read the nodes from the master's `GET /cluster/nodes`. Impossible with `passthrough`. */
  readonly discover: boolean
  readonly credentials: NodeCredentials
  readonly limits: () => NodeLimits
  readonly tls?: NodeTls
  readonly ejection?: Partial<EjectionSettings>
  /** Ranges that must contain every address of a node, after name resolution. Absent or empty: any address. */
  readonly allowedAddresses?: readonly string[]
  /** Time between two lists of nodes for the whole edge. */
  readonly discoverInterval?: number
  /** Called when this replica has read a list of nodes by itself, which the other replicas should get soon. */
  readonly onListRead?: () => void
  /** Timeout for a new connection, TLS handshake included. */
  readonly connectTimeout?: number
  /**
   * Timeout of a call that the asked node passes on to another one, without the queue. A node ends the calls that it carries
   * out itself after ten seconds, but those that it passes on after 200 only.
   */
  readonly hangTimeout?: number
  /** Time between two logins at a node. */
  readonly loginInterval?: number
  /** Whether a write through the edge has ended a token of a node. */
  readonly hasEndedToken?: HasEnded
  readonly contactTimes?: ContactTimes
  readonly log?: ClusterLog
  /** Called when a call has ended. */
  readonly onCall?: (call: NodeCallEvent) => void
  /** Called when an ejection of a node begins. */
  readonly onEject?: (node: string) => void
  readonly untracedTraceparent?: UntracedTraceparent
  /** Returns what the other replicas report about their contact with the nodes. */
  readonly peers?: () => readonly PeerContact[]
  /** Absent: this process has the whole limit of each node. */
  readonly slots?: SharedSlots
  /** Calls per minute to nodes, failed logins at nodes, and drains. Absent: replicas share none of them. */
  readonly counters?: Counters
  /** Monotonic milliseconds. */
  readonly clock?: () => number
}

export interface NodeStatus extends NodeLoad {
  /** Whether the settings name an address of the node. */
  readonly addressed: boolean
  /** Whether the master's latest list contains the node; absent without a list. */
  readonly listed?: boolean
  /** Absent: not recognised yet. */
  readonly layout?: Layout
  /** Set while the node is drained for maintenance. */
  readonly drain?: Drain
  /** Milliseconds until the next probe of an ejected node. */
  readonly ejectedFor?: number
  /** Whether the node accepts calls and answers none of them, or none of some kind. */
  readonly hangs?: boolean
  /** Milliseconds for which calls that another node passes on to this one fail at once. */
  readonly cutOffFor?: number
  /** `at`: milliseconds since 1970. */
  readonly lastFailure?: { readonly fault: NodeFault; readonly detail: string; readonly at: number }
}

const CONTACT_TIMES: ContactTimes = {
  interval: 1_000,
  slowInterval: 5_000,
  timeout: 5_000,
  idleInterval: 15_000,
}

const DEFAULTS = {
  layout: 'v3',
  onLayoutChange: () => undefined,
  layoutInterval: 30_000,
  discoverInterval: 30_000,
  onListRead: () => undefined,
  connectTimeout: 3_000,
  hangTimeout: 12_000,
  loginInterval: 1_000,
  hasEndedToken: () => false,
  contactTimes: CONTACT_TIMES,
  tls: {},
  allowedAddresses: [],
  log: () => undefined,
  peers: () => [],
  clock: systemClock.elapsed,
} satisfies Partial<ClusterOptions>

const EJECTION: EjectionSettings = {
  failures: 5,
  refusals: 2,
  hangs: 3,
  baseTime: 1_000,
  maxTime: 30_000,
  // Fresh responses within ten seconds after an outage.
  maxOutageTime: 6_000,
  // A hang is found within eight seconds: 4 + 2 × 2.
  silence: { minWait: 2_000, maxWait: 4_000, probeTimeout: 2_000, probes: 2, pause: 500 },
  // A node blocks an address for 300 s by default, and its setting may be shorter: attempts after 10, 20, 40, 80, 160, 320 s.
  block: { interval: 5_000, minPause: 10_000, maxPause: 160_000 },
  // One hang is enough. The cluster itself notices after 110 seconds.
  cutOff: { baseTime: 15_000, maxTime: 120_000 },
}

/** The options with all defaults filled in. */
export type ClusterSettings = ReturnType<typeof withDefaults>

export function withDefaults(options: ClusterOptions) {
  const settings = { ...DEFAULTS, ...options }
  return {
    ...settings,
    ejection: { ...EJECTION, ...options.ejection },
    counters: options.counters ?? createCounters(settings.clock),
  }
}
