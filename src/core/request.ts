import type { Priority, ReadEndpoint, WriteEndpoint } from '../contracts/endpoint.ts'
import { Cancellation, type CancelSignal } from './cancellation.ts'
import type { ClientFlow, LateExchange, NodeCall, NodeResult, NodeToken } from './node-call.ts'
import type { ClientPresence } from './presence.ts'
import type { EdgeResponse } from './response.ts'
import type { Trace } from './trace.ts'
import type { NameAndPassword } from './values.ts'

/**
 * A request after authentication, authorisation and validation: typed and canonical. Nothing of the raw URL is left,
 * so every room behind the border works with checked values only.
 */
export type EdgeRequest = EdgeRead | EdgeWrite

interface AnyRequest {
  /** Canonical path values, not percent-encoded (agent ids have three digits). */
  readonly params: Readonly<Record<string, string>>
  /** Canonical query values that the client sent and the record names; defaults are not filled in. */
  readonly query: Readonly<Record<string, string>>
  readonly caller: Caller
  /** The client asked for no time limit, so the call to the node has none. */
  readonly waitForComplete: boolean
  /** `Prefer: return=minimal` (RFC 7240 section 4.2), where the record of the endpoint has a minimal response. */
  readonly returnMinimal: boolean
  readonly priority: Priority
  readonly requestId: string
  readonly client: RequestClient
  /** Absent: the request is not traced. */
  readonly trace?: Trace
}

/** A read: it may be answered from the cache, and be a part of another read. */
export interface EdgeRead extends AnyRequest {
  readonly kind: 'read'
  readonly endpoint: ReadEndpoint
  /** Part of the cache key. `allRows`: all rows of the collection, whatever the query. */
  readonly extent: 'whole' | 'allRows' | NodeExtent
  readonly reuse: Reuse
  readonly effort: Effort
  readonly copies: CopyState
  /** The time (performance.now) after which the response is of no use, because a joined one is sent without it. */
  readonly deadline: number
  readonly cost: RequestCost
  /** `undefined`: a response that comes too late is of no use. */
  readonly late: LateAnswer | undefined
}

/**
 * Where a read notes its calls, and the latest one that timed out. A read that finds a late one here is answered from these calls,
 * without others.
 */
export interface LateAnswer {
  readonly calls: { readonly call: NodeCall; readonly result: NodeResult }[]
  late?: Pick<LateExchange, 'result'> & { readonly call: NodeCall }
  /** Returns the response with the age of the stored ones of which it was made. Absent: there are none. */
  addAge?: ((response: EdgeResponse) => EdgeResponse) | undefined
}

/** A write: it passes the audit, the write lock and the write fence, and never the cache. */
export interface EdgeWrite extends AnyRequest {
  readonly kind: 'write'
  readonly endpoint: WriteEndpoint
  readonly extent: 'whole' | NodeExtent
  readonly body: RequestBody
  /** The address of the client, for the audit. */
  readonly clientAddress: string
}

/**
 * One node is called under the record that several nodes answer: for its page of the rows of all agents, as the owner of an
 * agent, or for its part of a write. A part for one of `/cluster/:node_ids/…` has a record with the name of the node instead.
 */
interface NodeExtent {
  readonly node: string
}

/** Returns the node that the extent of a request names: no other one is called. `undefined`: the router names the nodes. */
export function onlyNodeOf({ extent }: EdgeRequest): string | undefined {
  return typeof extent === 'object' ? extent.node : undefined
}

/** Returns the fields of the body; a request without such a body has none. */
export function fieldsOf(request: EdgeRequest): Readonly<Record<string, unknown>> {
  return request.kind === 'write' && request.body.kind === 'fields' ? request.body.fields : {}
}

/**
 * How many calls the rows of all agents may cost. `bounded`: {@link priceOfRead}; rows beyond that are missing, and the response
 * says so. A read that names agents asks all of these. `complete`: a call for each agent, over minutes. No client waits for it.
 */
export type Effort = 'bounded' | 'complete'

/** Returns the calls that a bounded read may cost. */
export function priceOfRead(nodes: number): number {
  return 2 * nodes + 10
}

/**
 * Which stored responses a read is answered from (RFC 9111). `noCache` (section 5.2.1.4) and `noStore` (section 5.2.1.5):
 * the directive of a caller who may purge; with the first, the response is stored. `arrivedWithin`, of the parts of a joined
 * response that is refreshed: one that arrived within this number of milliseconds, and not stale during a refresh. `staleUpTo`:
 * also one whose lifetime has ended, up to this age in milliseconds, as long as it is stored.
 */
export type Reuse = 'allowed' | 'noCache' | 'noStore' | { readonly arrivedWithin: number; readonly staleUpTo?: number }

/**
 * The copies of replicated data on the workers. `lagging`: the data changed recently, so only the master may answer.
 * `unknown`: another replica may have changed it, because its epochs are not known or are not known for long enough, or the
 * read was not looked up in the cache.
 * `current`: neither, so a worker may answer for a busy master.
 */
export type CopyState = 'lagging' | 'unknown' | 'current'

/** The authenticated user. `credentials` are set only in access mode `passthrough`. */
export interface Caller {
  readonly name: string
  readonly permissions: readonly string[]
  readonly credentials?: NameAndPassword
  /** The caller's own token of a node: the v4 contract in access mode `passthrough`. */
  readonly nodeToken?: NodeToken
  /** The token could not be checked, because no node answers: it was good when it was checked last. */
  readonly isOnlyForReads?: true
  /** The digest of the authorization context that the user of the manager logged in with (`run_as`). Absent: there was none. */
  readonly context?: string
  /** Callers with the same text get the same responses of nodes that cut them to rights. Absent: only the same user does. */
  readonly rights?: string
  /** The token of the request, for revocation. */
  readonly token?: { readonly jti: string; readonly issuer: string; readonly expiresAt: number }
  /** The console session of the request. */
  readonly session?: CallerSession
}

/** Whether calls are sent with the caller's own credentials, so that their responses are the caller's. */
export function actsAsItself({ credentials, nodeToken }: Caller): boolean {
  return credentials !== undefined || nodeToken !== undefined
}

/** A session of the operators' console, from a sign-in to a sign-out. */
interface CallerSession {
  readonly id: string
  /** The name that the user has at its issuer, or in the users file. */
  readonly user: string
  /** The outside issuer that signed the user in. Absent: the user signed in with a password. */
  readonly issuer?: string
  /** Names of the user's roles now. */
  readonly roles: readonly string[]
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

/** Those that wait for the response: a client, or several requests that share one fetch. */
export interface RequestClient {
  /** Other requests may join, and the read is no part of a joined one. */
  readonly isShared?: true
  /** Absent: the request is work of the edge. To be read if it needs a node: such requests show who is bulk. */
  readonly flow?: ClientFlow
  /** Aborted when none of them waits any more. Made when it is first read: a cache hit needs none. */
  readonly signal: CancelSignal
  /** Whether a call that is not sent yet is still awaited. Absent: it always is, because it is work of the edge. */
  readonly presence?: ClientPresence
}

/** Returns the client of work of the edge, for which no client waits. */
export function createNoClient(): RequestClient {
  return new Cancellation()
}

/** What a read counts for if the cache cannot answer it. */
export interface RequestCost {
  /** Counts the request against the limits on requests that cost, once. Throws 903 if a limit is exceeded. */
  charge(): void
}

/** The cost of a read that was charged before, or that is work of the edge itself. */
export const NO_COST: RequestCost = { charge: () => undefined }

export type RequestBody =
  | { readonly kind: 'none' }
  | { readonly kind: 'fields'; readonly fields: Readonly<Record<string, unknown>> }
  | { readonly kind: 'upload'; readonly type: 'application/xml' | 'application/octet-stream'; readonly bytes: Buffer }

export const NO_BODY: RequestBody = { kind: 'none' }

/**
 * Answers a request. The response is returned synchronously where nothing has to be awaited: one extra microtask costs
 * a cache hit as much as the lookup itself.
 */
export type Handler<R extends EdgeRequest = EdgeRequest, Of = EdgeResponse> = (request: R) => Of | Promise<Of>

/** A handler around another one. */
export type Stage<R extends EdgeRequest = EdgeRequest> = (next: Handler<R>) => Handler<R>
