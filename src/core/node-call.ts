import type { Readable } from 'node:stream'
import type { Priority } from '../catalogue/endpoint.ts'
import type { Trace } from './trace.ts'

/** One call to one node. Paths are already encoded; the node is named, never addressed. */
export interface NodeCall {
  readonly node: string
  readonly method: string
  /** Encoded path and query, beginning with `/`. */
  readonly path: string
  readonly body?: { readonly type: string; readonly bytes: Buffer }
  /** May be sent again when it is sure that the node did not act on it, or when it is a GET that was cut before an answer. */
  readonly retryable: boolean
  /** A raw file is expected (`stream`), or an envelope read whole (`bytes`). */
  readonly expect: 'bytes' | 'stream'
  /** Milliseconds; absent: no limit (`wait_for_complete`). */
  readonly timeout?: number
  readonly signal: AbortSignal
  readonly requestId: string
  /** Who goes first where the node has no room for all. */
  readonly priority: Priority
  /** On whose behalf: no caller has a node for itself while others wait. */
  readonly caller: string
  /** Method and path of the record, as a template: calls of one endpoint take about the same time. */
  readonly endpoint: string
  readonly trace?: Trace
  readonly credentials?: { readonly username: string; readonly password: string }
}

export interface NodeResponse {
  readonly node: string
  readonly status: number
  /** Media type without parameters, in lower case. */
  readonly type: string
  readonly length?: number
  /** It speaks to one caller alone, and may be given to no other. */
  readonly personal?: boolean
  readonly body: Buffer | Readable
}

/** Why a call to a node failed. `sent: false` – the node has certainly seen nothing of it. */
export type NodeFault =
  | 'unreachable'
  | 'timeout'
  | 'overloaded'
  | 'ejected'
  | 'unreadable'
  | 'tooLarge'
  | 'refusedCredentials'
  | 'cancelled'

export type NodeResult =
  | { readonly ok: true; readonly response: NodeResponse }
  | {
      readonly ok: false
      readonly node: string
      readonly fault: NodeFault
      readonly sent: boolean
      readonly detail: string
      readonly retryAfter?: number
    }

/** A part that fails is a value, never a throw. */
export type CallNode = (call: NodeCall) => Promise<NodeResult>

export interface NodeInfo {
  readonly name: string
  readonly type: 'master' | 'worker'
  /** The edge has its address; without it, it is reached through the master only. */
  readonly addressed: boolean
  readonly version?: string
}

/** What is known of the cluster at this moment. */
export interface ClusterView {
  nodes(): readonly NodeInfo[]
  find(name: string): NodeInfo | undefined
  master(): NodeInfo
  /** May a call be sent to it now (not ejected, room in its queue)? */
  isAvailable(name: string): boolean
  /** Calls that it would take at once beside those under way and in line; 0 where none may be sent. */
  freeSlots(name: string): number
}
