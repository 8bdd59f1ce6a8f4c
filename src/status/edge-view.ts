/** The edge as plugins see it, such as the operators' console: what they read, and the little that they change. */

import type { FastifyRequest } from 'fastify'
import type { SessionParts } from '../core/access.ts'
import type { SnapshotState } from '../core/cache.ts'
import type { CacheIndex, EntryContents } from '../core/cache-index.ts'
import type { EdgeError } from '../core/errors.ts'
import type { EventListeners, Log, RequestEvent } from '../core/events.ts'
import type { Caller } from '../core/request.ts'
import type { RecordStages } from '../core/trace.ts'
import type { DrainResult } from './node-types.ts'
import type { Problem } from './problem-types.ts'
import type { ProblemSources } from './problems/sources.ts'
import type { ReplicaReport } from './replica-report.ts'
import type { CacheExplanation, ClientPort, PurgeRequest, PurgeResult } from './view-types.ts'

export interface EdgeView {
  readonly name: string
  readonly version: string
  /** Returns the addresses at which clients reach the edge, first that of `listen.port`. */
  clientPorts(): readonly ClientPort[]
  readonly ready: ProblemSources['ready']
  problems(): readonly Problem[]
  readonly cluster: Pick<ProblemSources, 'nodes' | 'layoutMixture' | 'replicas' | 'servedInOutage'>
  readonly cache: CacheView
  readonly drains: NodeDrains
  readonly events: EventsView
  /** Adds to what this replica reports to the others. */
  report(part: ReplicaReport): void
  readonly access: AccessView
}

interface AccessView {
  /** Returns the permission that a read of the endpoint needs. */
  permissionOf(endpoint: string): string
  /** Returns `undefined` if only the permissions of the caller are known. */
  rolesOf(caller: Caller): readonly string[] | undefined
  /** Browsers sign in with these pages from now on. */
  usePages(pages: SignInPages): void
  /** Absent in mode passthrough, in which only the header `Authorization` signs in: a session has no password to forward. */
  readonly sessions?: SessionsView
}

export interface SignInPages {
  /** Sent to browsers with 401 instead of a challenge for Basic, which opens the browser's own dialog. */
  readonly challenge?: string
  /** Returns the caller whose session the request names. */
  findCaller(request: FastifyRequest): Caller | undefined
  /** Returns `undefined` if the request is answered with JSON or text. */
  errorPage(request: FastifyRequest, error: EdgeError): Page | undefined
}

interface Page {
  readonly html: string
  readonly headers: Readonly<Record<string, string>>
}

/** The outside issuer that signs operators in (`operations.signIn`). */
export interface IssuerSettings {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret?: string
  /** The URL of `/sign-in/callback` at the issuer. */
  readonly redirectUrl: string
  readonly scopes: readonly string[]
  /** The claim that names the user. */
  readonly userClaim: string
  /** The claim that names roles, and roles of the edge for its words. Absent: they are the names of roles. */
  readonly rolesClaim: string
  readonly roles?: Readonly<Record<string, readonly string[]>>
}

interface SessionSettings {
  /** Milliseconds. */
  readonly lifetime: number
  /** Absent: no outside issuer signs users in. */
  readonly issuer?: IssuerSettings
}

/** What the edge has for sessions of operators: a plugin starts, finds and ends them. */
export interface SessionsView extends SessionParts {
  /** Read for each request: a reload may change them. */
  settings(): SessionSettings
  /** Resolves if the password is right. Rejects with 901, 903 or 904. */
  authenticate(request: FastifyRequest, login: { readonly name: string; readonly password: string }): Promise<void>
  /** Counts a request without a caller against its address. Rejects with 903. */
  countAddress(request: FastifyRequest): Promise<void>
  readonly log: Log
}

interface EventsView {
  /**
   * Calls the listeners for each event from now on, in batches: at `requests.drain`, or up to 250 ms later. Returns the function
   * that removes them. They must not block.
   */
  on(listeners: EventListeners): () => void
  readonly requests: LastRequests
  /** Returns the present counts. The caller must not change them. */
  totals(): RequestTotals
  /** Passes the stages of each request that begins from now on to this recorder, until it is replaced. */
  recordStages(record: RecordStages | undefined): void
}

/** The last requests of this process, in the order of their end. */
export interface LastRequests {
  /** Passes the requests that have ended to their listeners, which otherwise get them in batches. */
  drain(): void
  /** Returns the requests since this time (milliseconds since 1970), newest first. */
  newest(oldestAt: number): Iterable<RequestEvent>
  find(id: string): RequestEvent | undefined
  /** Releases the requests from before this time. */
  forget(oldestAt: number): void
}

/** The counts since the start, of the requests that were passed to the listeners. */
export interface RequestTotals {
  readonly cells: readonly CountedRequests[]
  /** The upper bounds of the buckets of the cells, in milliseconds. The last bucket has none. */
  readonly bounds: Float64Array
  /** Calls to nodes. */
  readonly calls: number
}

/** The requests with the same labels. */
interface CountedRequests extends Pick<RequestEvent, 'group' | 'status' | 'cache'> {
  readonly isHit: boolean
  readonly requests: number
  /** Milliseconds in which nodes produced the stored responses that were served. */
  readonly fetchTime: number
  /** By bucket of their latency. */
  readonly counts: Float64Array
}

export interface CacheView {
  readonly state: ProblemSources['cache']
  readonly capacity: ProblemSources['capacity']
  readonly index: Pick<CacheIndex, 'list' | 'purgeCount'>
  /** Returns the snapshots of collections whose rows this replica has. */
  snapshots(): readonly SnapshotState[]
  /** Purges the named entries, or previews the purge. Writes the same audit record as `DELETE /cache`. Rejects with an EdgeError. */
  purge(request: PurgeRequest, by: PurgeCaller): Promise<PurgeResult>
  /** Returns what the cache would do with the next request for the URL. Rejects with the EdgeError of that request. */
  explain(url: string, caller: Caller): Promise<CacheExplanation>
  /** Returns the stored response as this caller would receive it. Rejects with an EdgeError if the caller may not read it. */
  read(
    entry: { readonly key: string; readonly url: string; readonly tags: readonly string[] },
    caller: Caller,
  ): Promise<EntryContents>
}

/** The query of a drain. `for`: a duration such as `30m`. */
export interface DrainOptions {
  readonly confirm?: string | undefined
  readonly for?: string | undefined
  readonly reason?: string | undefined
}

/** Takes nodes out for maintenance and puts them back. Both write audit records, and reject with an EdgeError. */
export interface NodeDrains {
  readonly areShared: boolean
  drain(node: string, how: DrainOptions, by: PurgeCaller): Promise<DrainResult>
  putBack(node: string, by: PurgeCaller): Promise<DrainResult>
}

export interface PurgeCaller {
  readonly caller: Caller
  readonly client: string
  readonly requestId: string
}
