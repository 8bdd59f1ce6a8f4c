import type { Endpoint, Priority } from '../catalogue/endpoint.ts'
import type { EdgeResponse } from './response.ts'
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
export interface EdgeRequest {
  readonly endpoint: Endpoint
  /** Canonical path values, not percent-encoded (agent ids have three digits). */
  readonly params: Readonly<Record<string, string>>
  /** Canonical query values that the client sent and the record knows; defaults are not filled in. */
  readonly query: Readonly<Record<string, string>>
  readonly body?: RequestBody
  readonly caller: Caller
  /** The client asked for no time limit: its own call has none. */
  readonly waitForComplete: boolean
  /** What a caller who may purge asks of the cache; absent: nothing. */
  readonly directives?: CacheDirectives
  /** A part of a joined answer: what this node alone answers. Stands in the key. */
  readonly node?: string
  /** The moment (performance.now) from which on nobody waits for this part: other parts, and the client, do not. */
  readonly deadline?: number
  /** A part of an answer that is made anew: what is kept of it will do if it is younger, in milliseconds. */
  readonly maxAge?: number
  /** Asked on behalf of something else, and as urgent as that; absent: as the record says. */
  readonly priority?: Priority
  /** Workers may not have copied the data yet: only the master may answer. */
  readonly masterOnly?: true
  readonly requestId: string
  /** The address of the client; there for writes, which are audited. */
  readonly clientAddress?: string
  /** Aborted when the client leaves. */
  readonly signal: AbortSignal
  /** Absent: nobody traces this request. */
  readonly trace?: Trace
}

/** Returns the priority of the request that this one serves; without one, that of the endpoint. */
export function priorityOf({ priority, endpoint }: EdgeRequest): Priority {
  return priority ?? endpoint.priority ?? (endpoint.method === 'GET' ? 'interactive' : 'write')
}

/** RFC 9111 section 5.2.1. `noCache`: a new answer is wanted (also `max-age=0`); `noStore`: it is not to be kept. */
export interface CacheDirectives {
  readonly noCache: boolean
  readonly noStore: boolean
}

export type RequestBody =
  | { readonly kind: 'fields'; readonly fields: Readonly<Record<string, unknown>> }
  | { readonly kind: 'upload'; readonly type: 'application/xml' | 'application/octet-stream'; readonly bytes: Buffer }

/**
 * Answers a request. The response is returned synchronously where nothing has to be awaited: one extra microtask costs
 * a cache hit as much as the lookup itself.
 */
export type Handler = (request: EdgeRequest) => EdgeResponse | Promise<EdgeResponse>

/** A handler around another one. */
export type Stage = (next: Handler) => Handler
