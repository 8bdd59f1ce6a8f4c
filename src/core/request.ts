import type { Endpoint, Priority } from '../catalogue/endpoint.ts'
import type { EdgeResponse } from './response.ts'
import type { Trace } from './trace.ts'

/**
 * A request after authentication, authorisation and validation: typed and canonical. Nothing of the raw URL is left,
 * so every room behind the border works with checked values only.
 */
export interface EdgeRequest {
  readonly endpoint: Endpoint
  /** Canonical path values, not percent-encoded (agent ids have three digits). */
  readonly params: Readonly<Record<string, string>>
  /** Canonical query values that the client sent and the record names; defaults are not filled in. */
  readonly query: Readonly<Record<string, string>>
  readonly body?: RequestBody
  readonly caller: Caller
  /** The client asked for no time limit, so the call to the node has none. */
  readonly waitForComplete: boolean
  /** Cache directives of a caller who may purge. */
  readonly directives?: CacheDirectives
  /** `Prefer: return=minimal` (RFC 7240 section 4.2), where the record of the endpoint has a minimal response. */
  readonly returnMinimal?: true
  /** The node whose part of a joined response is requested; part of the cache key. */
  readonly node?: string
  /** All rows of the collection are requested, whatever the query; part of the cache key. */
  readonly snapshot?: true
  /** The time (performance.now) after which the joined response no longer waits for this part. */
  readonly deadline?: number
  /**
   * Milliseconds: a stored response is served only if it arrived more recently, and not stale during a refresh. Set for
   * the parts of a joined response that is refreshed.
   */
  readonly arrivedWithin?: number
  /** Absent: the priority of the endpoint. */
  readonly priority?: Priority
  /** The copies of the requested data on the workers. Absent: not known, as for a read that is not looked up in the cache. */
  readonly copies?: CopyState
  readonly requestId: string
  /** Set for reads of clients that may turn out to cost. Absent: charged already, or work of the edge itself. */
  readonly cost?: RequestCost | undefined
  /** The address of the client; set for writes, which are audited. */
  readonly clientAddress?: string
  readonly client: RequestClient
  /** Absent: the request is not traced. */
  readonly trace?: Trace
}

/**
 * The copies of replicated data on the workers. `lagging`: the data changed recently, so only the master may answer.
 * `unknown`: another replica may have changed it, because its epochs are not known or are not known for long enough.
 * `current`: neither, so a worker may answer for a busy master.
 */
export type CopyState = 'lagging' | 'unknown' | 'current'

/** The authenticated user. `credentials` are set only in access mode `passthrough`. */
export interface Caller {
  readonly name: string
  readonly permissions: readonly string[]
  readonly credentials?: { readonly username: string; readonly password: string }
  /** The token of the request, for revocation. */
  readonly token?: { readonly jti: string; readonly issuer: string; readonly expiresAt: number }
  /** The console session of the request. */
  readonly session?: CallerSession
}

/** A session of the operators' console, from a sign-in to a sign-out. */
export interface CallerSession {
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

/** Whoever waits for the response: a client, or several requests that share one fetch. */
export interface RequestClient {
  /** Aborted when nobody waits any more. Made when it is first read: a cache hit needs none. */
  readonly signal: AbortSignal
}

/** What a read counts for if the cache cannot answer it. */
export interface RequestCost {
  /** Counts the request against the limits on requests that cost, once. Throws 903 if a limit is exceeded. */
  charge(): void
}

/** RFC 9111 section 5.2.1. `noCache`: do not serve a stored response (also `max-age=0`); `noStore`: do not store it. */
export interface CacheDirectives {
  readonly noCache: boolean
  readonly noStore: boolean
}

export type RequestBody =
  | { readonly kind: 'fields'; readonly fields: Readonly<Record<string, unknown>> }
  | { readonly kind: 'upload'; readonly type: 'application/xml' | 'application/octet-stream'; readonly bytes: Buffer }

/** Returns the priority of the request that this one serves; without one, that of the endpoint. */
export function priorityOf({ priority, endpoint }: EdgeRequest): Priority {
  return priority ?? endpoint.priority ?? (endpoint.method === 'GET' ? 'interactive' : 'write')
}

/**
 * Answers a request. The response is returned synchronously where nothing has to be awaited: one extra microtask costs
 * a cache hit as much as the lookup itself.
 */
export type Handler = (request: EdgeRequest) => EdgeResponse | Promise<EdgeResponse>

/** A handler around another one. */
export type Stage = (next: Handler) => Handler
