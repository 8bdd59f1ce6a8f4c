/**
 * The one type that runs through the core, and the ports that the core needs, in its own words.
 * `app.ts` makes the concrete things and hands them in.
 */
import type { Readable } from 'node:stream'
import type { Endpoint, Load } from '../catalogue/endpoint.ts'
import type { KeptAnswer } from './kept.ts'
import type { Trace } from './trace.ts'

/** Who asks. `credentials` are there only in mode `passthrough`. */
export interface Caller {
  readonly name: string
  readonly permissions: readonly string[]
  readonly credentials?: { readonly username: string; readonly password: string }
  /** The token that was shown, for revocation. */
  readonly token?: { readonly jti: string; readonly issuer: string; readonly expiresAt: number }
}

/** A request after authentication, authorisation and validation: typed, canonical, nothing of the raw URL left. */
export interface Ask {
  readonly endpoint: Endpoint
  /** Canonical path values, not percent-encoded (agent ids have three digits). */
  readonly params: Readonly<Record<string, string>>
  /** Canonical query values that the client sent and the record knows; defaults are not filled in. */
  readonly query: Readonly<Record<string, string>>
  readonly body?: AskBody
  readonly caller: Caller
  /** The client asked for no time limit: its own call has none. */
  readonly waitForComplete: boolean
  /** What a caller who may purge asks of the cache; absent: nothing. */
  readonly directives?: Directives
  /** A part of a joined answer: what this node alone answers. Stands in the key. */
  readonly node?: string
  /** The moment (performance.now) from which on nobody waits for this part: other parts, and the client, do not. */
  readonly until?: number
  /** A part of an answer that is made anew: what is kept of it will do if it is younger, in milliseconds. */
  readonly youngerThan?: number
  /** Asked on behalf of something else, and as urgent as that; absent: as the record says. */
  readonly load?: Load
  /** Workers may not have copied the data yet: only the master may answer. */
  readonly masterOnly?: true
  readonly requestId: string
  /** The address of the client; there for writes, which are audited. */
  readonly client?: string
  /** Aborted when the client leaves. */
  readonly signal: AbortSignal
  /** Absent: nobody traces this request. */
  readonly trace?: Trace
}

/** RFC 9111 section 5.2.1. `noCache`: a new answer is wanted (also `max-age=0`); `noStore`: it is not to be kept. */
export interface Directives {
  readonly noCache: boolean
  readonly noStore: boolean
}

export type AskBody =
  | { readonly kind: 'fields'; readonly fields: Readonly<Record<string, unknown>> }
  | { readonly kind: 'upload'; readonly type: 'application/xml' | 'application/octet-stream'; readonly bytes: Buffer }

/** `json`: bytes of a checked `{error, data}` or `{error, message}` envelope. `raw`: a file passed through. */
export type Answer =
  | {
      readonly kind: 'json'
      readonly status: number
      readonly bytes: Buffer
      readonly headers?: Headers
      /** Of a joined answer: the value of `Cluster-Status`, one member for each node that was asked. */
      readonly clusterStatus?: string
      /** Some nodes are missing from it, or gave what they had kept: it must not be kept as if whole. */
      readonly partial?: true
      /** Of a joined answer: milliseconds for which its oldest part had been kept. */
      readonly oldest?: number
      /** Of a write over many nodes: whether some of them acted is not known, or they may be at it still. */
      readonly unfinished?: true
      /** It speaks to one caller alone. */
      readonly personal?: boolean
      /** There when the answer may be kept: clients may hold it too, and ask whether it is still the same. */
      readonly kept?: Kept
    }
  | {
      readonly kind: 'raw'
      readonly status: number
      readonly type: string
      readonly length?: number
      readonly stream: Readable
    }

export interface Kept {
  readonly answer: KeptAnswer
  readonly status: CacheStatus
}

/** How the cache dealt with a request, in the words of RFC 9211 section 2. `ttl` in milliseconds; negative when stale. */
export interface CacheStatus {
  readonly hit?: true
  readonly fwd?: 'bypass' | 'uri-miss' | 'stale' | 'request'
  readonly stored?: true
  readonly collapsed?: true
  readonly ttl?: number
  readonly detail?: string
}

type Headers = Readonly<Record<string, string>>

/** The shape of every stage, and of the whole. */
export type Handle = (ask: Ask) => Promise<Answer>
/** The same, at once where nothing has to be waited for: each turn that a hit waits costs as much as its look. */
export type Prompt = (ask: Ask) => Answer | Promise<Answer>
/** A part of the way that wraps what comes after it. */
export type Stage = (next: Handle) => Handle

/** One call to one node. Paths are already encoded; the node is named, never addressed. */
export interface NodeCall {
  readonly node: string
  readonly method: string
  /** Encoded path and query, beginning with `/`. */
  readonly path: string
  readonly body?: { readonly type: string; readonly bytes: Buffer }
  /** May be sent again when it is sure that the node did not act on it, or when it is a GET that was cut before an answer. */
  readonly repeatable: boolean
  /** A raw file is expected (`stream`), or an envelope read whole (`bytes`). */
  readonly expect: 'bytes' | 'stream'
  /** Milliseconds; absent: no limit (`wait_for_complete`). */
  readonly timeout?: number
  readonly signal: AbortSignal
  readonly requestId: string
  /** Who goes first where the node has no room for all. */
  readonly load: Load
  /** On whose behalf: no caller has a node for itself while others wait. */
  readonly caller: string
  /** Method and path of the record, as a template: calls of one endpoint take about the same time. */
  readonly endpoint: string
  readonly trace?: Trace
  readonly credentials?: { readonly username: string; readonly password: string }
}

export interface NodeReply {
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
  | { readonly ok: true; readonly reply: NodeReply }
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
  available(name: string): boolean
  /** Calls that it would take at once beside those under way and in line; 0 where none may be sent. */
  spare(name: string): number
}
