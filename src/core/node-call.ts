/** What calls to nodes are made of, and what the edge knows of nodes. Over 200 lines: the vocabulary of calls to nodes. */
import type { Readable } from 'node:stream'
import type { Priority } from '../contracts/endpoint.ts'
import type { CancelSignal } from './cancellation.ts'
import type { Failure, NodeFault } from './node-faults.ts'
import type { ClientPresence } from './presence.ts'
import type { Trace } from './trace.ts'
import { type NameAndPassword, ownText } from './values.ts'

/** The database of a node of the v4 layout hangs on a longer text, in bytes of UTF-8, until the node is restarted. */
export const MAX_SEARCH_BYTES = 1000

/**
 * Returns the node that an agent reports to, as its row names the node. Returns `undefined` if the manager does not know the
 * node.
 */
export function nodeOfAgent(row: unknown): string | undefined {
  const node = ownText(row, 'node_name')
  return node === '' || node === 'unknown' ? undefined : node
}

/** A client that needs no node for this long has used little lately (milliseconds). */
export const PAUSE_MS = 500

/** Who causes a call. `party`: the user and its address. `name`: of one of its flows. */
export interface ClientFlow {
  readonly party: string
  readonly name: number | string
  /** The party has had requests of this kind waiting for long on a connection that is not sparse, or walks through pages. */
  readonly isBulk?: boolean
  /** To be called when a call is refused because of too many others. `retryAfter`: seconds. */
  refuse?(retryAfter: number): void
}

/** One call to one node. The node is given by its name, never by its address. */
export interface NodeCall {
  readonly node: string
  readonly method: string
  /** Encoded path and query, starting with `/`. */
  readonly path: string
  readonly body?: { readonly type: string; readonly bytes: Buffer }
  /** Whether the call may be sent again if the node certainly did not act on it, or if it is a GET without a response. */
  readonly retryable: boolean
  /** `stream`: a file; `bytes`: an envelope that is read completely; `text`: a file that is read completely. */
  readonly expect: 'bytes' | 'stream' | 'text'
  /** Milliseconds; absent: no limit (`wait_for_complete`). */
  readonly timeout?: number
  readonly signal: CancelSignal
  /** Whether a client awaits the response. A call without one is dropped, unless it was sent. Absent: it is always awaited. */
  readonly presence?: ClientPresence
  /** Several requests may share the response. */
  readonly isShared?: true
  readonly requestId: string
  /** Decides which calls are sent first if the node is at its limit. `own`: a probe or a login, before those of clients. */
  readonly priority: Priority | 'own'
  readonly caller: string
  /** Queued calls of flows take turns. Absent: one of the caller's. */
  readonly flow?: ClientFlow
  /** Method and path of the record, as a template: calls of one endpoint take about the same time. */
  readonly endpoint: string
  /** The asked node passes the call on. Absent: it carries out the call itself. */
  readonly passedOnTo?: PassedOnTo
  /** The sender answers for lost nodes: calls for them fail at once, and are no probes. */
  readonly reportsLostNodes?: true
  /** Only the manager knows whether the asked node passes the call on. If it is late, that shows nothing about the node. */
  readonly mayBePassedOn?: true
  /** The agent whose database the call reads. If it is late while others are answered, that shows nothing about the node. */
  readonly agentData?: string
  /** Milliseconds on the node, without the queue, after which a call that is passed on counts as hanging. */
  readonly hangsAfter?: number
  readonly trace?: Trace
  readonly credentials?: NameAndPassword
  /** The normalised address of the client whose credentials are checked. Absent: they were checked before. */
  readonly clientAddress?: string
  /** The call is the edge's own, and any account may send it: without credentials, it carries any token that the node accepts. */
  readonly anyToken?: true
  /** The token of the caller, which is sent instead of one of an account. */
  readonly token?: NodeToken
}

/** A read as its record names it, with the values of the path and of the query. */
export interface NamedRead {
  /** The template of the path, such as `/agents/:agent_id`. */
  readonly path: string
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
}

/** A token that a node has issued; no other node accepts it. */
export interface NodeToken {
  readonly node: string
  /** Returns the header that contains it. A function, so that no dump of an object shows the token. */
  header(): string
  /** To be called when the node has answered a call that carried the token: it has accepted the token. */
  noteAnswer?(): void
}

/** A node, the owner of an agent, or several nodes that the call does not name; `without`: certainly none of these. */
export type PassedOnTo =
  | { readonly node: string }
  | { readonly agent: string }
  | 'several'
  | { readonly without: readonly string[] }

export interface NodeResponse {
  readonly node: string
  readonly status: number
  /** Media type without parameters, in lower case. */
  readonly type: string
  readonly length?: number
  /** The response is for one caller only. */
  readonly personal?: boolean
  /** Milliseconds since a cache in front of the node has received the response (`Age`). Absent: none. */
  readonly age?: number
  readonly body: Buffer | Readable
}

export type NodeResult = { readonly ok: true; readonly response: NodeResponse } | NodeFailure

export interface NodeFailure extends Failure {
  readonly ok: false
  readonly node: string
  readonly fault: NodeFault
  /** Of an ejected node: why its last call failed. */
  readonly lastFault?: NodeFault
  /** The layout that the node showed when it refused the call. */
  readonly layout?: Layout
  /** `false`: the node certainly received nothing of the call, or has refused it without acting on it. */
  readonly sent: boolean
  /** Seconds. */
  readonly retryAfter?: number
  /** The HTTP status of a response that refuses the call. */
  readonly status?: number
  /** No process listens at the address of the node. */
  readonly refused?: true
  /** The connection was refused, or lost before a response began: a retry may help and is harmless for reads. */
  readonly retryable?: true
  /** The call was aborted after `hangsAfter`. */
  readonly hung?: true
  /** Absent: the node works no longer on the call. */
  readonly late?: LateExchange
  /**
   * Of a call that is not sent, or of a read that hung: the nodes which do not answer what the asked node passes on to them,
   * or the agent whose node does not (`agent 001`), if the node is not known.
   */
  readonly lostNodes?: readonly string[]
}

/** The exchange with a node of a call that has ended before its response. */
export interface LateExchange {
  /** Resolves with what the node answers, or with a failure when the connection or the exchange has ended. Never rejects. */
  readonly result: Promise<NodeResult>
  /** Ends the exchange, and its connection. */
  end(): void
}

/** Calls a node. A failure is a result; the promise never rejects. */
export type CallNode = (call: NodeCall) => Promise<NodeResult>

/**
 * The layout of a manager's API. `v3`: that of the public API, `{error, data}` with `items` and `totalItems`. `v4`:
 * that of releases 4.x, `affected_items` and tokens.
 */
export type Layout = 'v3' | 'v4'

/** The names of the nodes of each layout. Release 5.0 has the v4 layout without what only workers had. */
export type LayoutMixture = Readonly<Partial<Record<Layout | 'v5', readonly string[]>>>

/** Returns the names of nodes by layout in words. */
export function describeMixture(mixture: LayoutMixture): string {
  return Object.entries(mixture)
    .map(([layout, names]) => `${layout}: ${names.join(', ')}`)
    .join('; ')
}

/** What the nodes' API allows, which depends on its layout. */
export interface NodeReads {
  /** Rows that one call returns at most. */
  readonly rowsPerCall: number
  /** Whether nodes join the rows of all agents. Otherwise the edge joins them, and each page takes all rows. */
  readonly joinsAgents: boolean
  /** Whether the edge converts rows of the nodes for clients of the v3 contract. */
  readonly convertsRows: boolean
  /** Fields that agents no longer have: a node refuses to select them, and to compare or sort by them. Absent: none. */
  readonly lostFields?: ReadonlySet<string>
}

export interface NodeInfo {
  readonly name: string
  readonly type: 'master' | 'worker'
  /** Whether the edge has the address of the node; without it, the node is reached through the master only. */
  readonly addressed: boolean
  readonly version?: string
  /** The master's list does not have the node: it is not connected to the cluster, so its copies of data may be old. */
  readonly isDisconnected?: true
}

interface NodeVersions {
  /** Returns `undefined` if the version of the node is not known, or was read too long ago. */
  of(node: string): string | undefined
  /** To be called with the version that the node itself has shown. */
  note(node: string, version: string): void
}

export interface ClusterView {
  nodes(): readonly NodeInfo[]
  find(name: string): NodeInfo | undefined
  master(): NodeInfo
  /** Returns the layout of the API of a node; `undefined`: it is not recognised yet. */
  layoutOf(name: string): Layout | undefined
  /** Returns the nodes by layout if they have different ones. */
  layoutMixture(): LayoutMixture | undefined
  /**
   * Recognises the layout of a node again, because a response did not fit the layout `used`. `shown`: the layout that the
   * response showed. Resolves to whether the node has another one. Absent: layouts do not change.
   */
  confirmLayout?(name: string, used: Layout, shown?: Layout): Promise<boolean>
  readonly versions: NodeVersions
  /** Returns the release of a node, also if it was read long ago; `undefined`: it was never read. */
  releaseOf(name: string): string | undefined
  /** Returns the lowest and the highest release 4 or later of the nodes, as far as they are known; absent: none is. */
  releases(): { readonly lowest?: string | undefined; readonly highest?: string | undefined }
  /** Whether a call may be sent to the node: it is not ejected, and its queue has room. */
  isAvailable(name: string): boolean
  /** Whether the node was found not to answer at all, neither calls nor probes. */
  isSilent(name: string): boolean
  /** Returns how many more calls the node would take at once, without queueing; 0 if it takes none. */
  freeSlots(name: string): number
  /** Whether another call would leave the node no free slot for the next one. */
  isSaturated(name: string): boolean
  /** Returns the milliseconds until the limit per minute of the node permits this number of reads; Infinity: it never does. */
  waitForReads(name: string, calls: number): number
  /** Returns the milliseconds until one more read may be sent, after those in the queue and `others`. */
  waitForNextRead(name: string, others: number): number
}

/** Returns the minor version of a release 4, such as 5 for `4.5.4`, and Infinity for later releases; `undefined` for other texts. */
export function minorOf(release: string | undefined): number | undefined {
  const [, major, minor] = /^v?([4-9])\.(\d+)/.exec(release ?? '') ?? []
  return major === undefined ? undefined : major === '4' ? Number(minor) : Number.POSITIVE_INFINITY
}

/** Whether nodes of a release have something of these releases. A release that is not known has all but `none`. */
export function isInRelease(
  having: { readonly since?: string; readonly until?: string | undefined } | 'none' = {},
  release?: string,
): boolean {
  if (having === 'none') return false
  const minor = minorOf(release)
  if (minor === undefined) return true
  return (minorOf(having.since) ?? 0) <= minor && minor <= (minorOf(having.until) ?? Number.POSITIVE_INFINITY)
}

/** Whether a node of the release, if it is the master, is the only one with an API, and has no separate paths (`/manager`). */
export function isRelease5(release: string | undefined): boolean {
  return minorOf(release) === Number.POSITIVE_INFINITY
}

/**
 * The slots of one limiter: how many calls this process may have in flight on a node. Replicas that share a Redis share the
 * limit of each node; without Redis, a process has the whole limit.
 */
export interface NodeSlots {
  /** Calls that may be in flight here now. */
  readonly usable: number
  /** Slots of the node that other replicas leave free. */
  readonly available: number
  /** Slots to expect over time, for estimates of waiting times; more than 0, possibly a fraction. */
  readonly expected: number
  /**
   * Must be called after each change, before a queued call is started on a slot that became free. `demand`: calls in
   * flight, and queued calls that a further slot would start.
   */
  update(inFlight: number, demand: number): void
  /** Returns the slots to the other replicas; those of calls in flight after `kept` milliseconds: the node works on. */
  close(kept: number): Promise<void>
}

/** The slots of all nodes over all replicas. */
export interface SharedSlots {
  /** `limit`: of all replicas together. `onChange`: the number of usable slots may have changed. */
  open(name: string, limit: () => number, onChange: () => void): NodeSlots
}
