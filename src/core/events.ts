/**
 * Events of the edge, for metrics, the console, the log, the audit and traces. Their values are bounded: never a query
 * value, a header or a body, and of a URL nothing but `path`. Listeners must not block and must not throw.
 * Over 200 lines: the vocabulary of events.
 */

import type { CacheOutcome, CacheStatus, TrialComparison } from './cache.ts'
import { isHeldBack, type NodeFault } from './node-faults.ts'

export interface EventListeners {
  /** The event is used again after the call (`telemetry/request-ring.ts`). */
  request?(event: RequestEvent): void
  /** `at`: when the event was emitted, in monotonic milliseconds. Absent: now. */
  nodeCall?(event: NodeCallEvent, at?: number): void
  /** The name of a node whose ejection begins. */
  ejection?(node: string): void
  layoutChange?(change: LayoutChange): void
  join?(event: JoinEvent, at?: number): void
  /** A login with name and password was rejected. */
  failedLogin?(reason: FailedLoginReason): void
  cache?(event: CacheEvent): void
  redisStep?(event: RedisStepEvent): void
  storeEvent?(event: StoreEvent): void
  operation?(event: OperationEvent): void
  /** The code of an error of a single connection that no code had handled; the process went on. */
  uncaughtConnectionError?(code: string): void
}

/** The layout of a node was recognised. `before` is present if the node was upgraded, or replaced by another release. */
export interface LayoutChange {
  readonly node: string
  /** As `Layout` in node-call.ts, which the page of the console cannot import. */
  readonly layout: 'v3' | 'v4'
  readonly before?: 'v3' | 'v4'
  readonly isMaster: boolean
}

/** One request; emitted once, when the response was sent or the client disconnected. Always has all members. */
export type RequestEvent = Readonly<RequestRecord>

/** The event of a request of which nothing is known yet. */
export class RequestRecord {
  requestId = ''
  /** When the response ended: milliseconds since 1970. */
  at = 0
  /** The same moment in monotonic milliseconds. */
  endedAt = 0
  /** GET, HEAD, PUT, POST, DELETE, OPTIONS, or `other`. */
  method = ''
  /** For the log only: the method as the client sent it. Undefined: the request could not be parsed. */
  sentMethod: string | undefined = undefined
  /** The name of the endpoint (`routeOf` in `request.ts`), or `unknown`. */
  route = ''
  /** Of a request without a route: its path, shortened and escaped. For the console only, because clients choose it. */
  path: string | undefined = undefined
  /** The cache group of the route, or `none`. */
  group = 'none'
  /** 0: the client disconnected before there was a response. */
  status = 0
  /** Milliseconds from the header of the request to the end of the response. */
  ms = 0
  /** Bytes of the body, as sent. */
  bytes = 0
  cache: CacheOutcome = 'none'
  /** Milliseconds that the fetch of the stored response took; set for hits. */
  fetchTime: number | undefined = undefined
  /** How the cache handled the request; undefined if the response may not be stored. */
  cacheStatus: CacheStatus | undefined = undefined
  /** Milliseconds since the data were fetched, as `Age` has it; undefined without `cacheStatus`. */
  age: number | undefined = undefined
  /** The code of the error that the edge sent. */
  errorCode: number | undefined = undefined
  /** Undefined: the caller was not authenticated. */
  caller: string | undefined = undefined
  client = ''
  /** Of a request whose trace is sampled. */
  traceId: string | undefined = undefined
  /** The error code of a request that the edge rejected before it had any effect. */
  rejectedWith: number | undefined = undefined
  /** The listener rejected the request, before the router. */
  isOfListener = false
  /** The message of its line in the log. Undefined: it has none. */
  message: RequestMessage | undefined = undefined
}

/**
 * `start`: the edge listens · `reload`: changed settings took effect · `drain`: an operator drained a node · `return`: a
 * drained node was put back, by an operator or at the end of the drain.
 */
export interface OperationEvent {
  readonly kind: 'start' | 'reload' | 'drain' | 'return'
  /** The node of a drain, with the reason, or of a return. */
  readonly text?: string
}

export type RequestMessage = 'request' | 'request not answered: connection closed'

/** What the audit needs of a rejected request; its route may be one of the operations listener. */
export type RejectedRequestEvent = Pick<
  RequestEvent,
  'requestId' | 'caller' | 'client' | 'method' | 'route' | 'status' | 'rejectedWith'
>

/** One call to one node; emitted when it has ended, of a streamed file with its last byte. */
export interface NodeCallEvent {
  readonly requestId: string
  readonly node: string
  readonly method: string
  /** The route template on the node, or `unknown`. */
  readonly route: string
  /** Either `status` or `fault` is set. */
  readonly status?: number
  readonly fault?: NodeFault
  /** Milliseconds on the node, and before in the queue of the edge. */
  readonly ms: number
  readonly queueTime: number
}

/** Returns whether the call was sent to its node; a node that refuses a call (`blocked`) has received it. */
export function wasSent({ fault }: Pick<NodeCallEvent, 'fault'>): boolean {
  return fault === undefined || !isHeldBack({ fault })
}

/** `blocked`: too many failures before. `busy`: too many logins at once. */
export const FAILED_LOGIN_REASONS = ['wrong', 'blocked', 'busy'] as const
export type FailedLoginReason = (typeof FAILED_LOGIN_REASONS)[number]

/** One joined response; emitted when it is joined, not when it is served from the cache. */
export interface JoinEvent {
  readonly requestId: string
  readonly route: string
  /** Milliseconds until the response was complete. */
  readonly ms: number
  /** Known nodes only; names that the client made up are left out. */
  readonly nodes: readonly NodeContribution[]
}

/** What one node contributed to a joined response. */
export interface NodeContribution {
  readonly node: string
  /** Rows of the node on this page, and in total; absent if the node failed. */
  readonly rows?: number
  readonly total?: number
  /** Milliseconds until its last part arrived; absent if all its parts were stored. */
  readonly ms?: number
  /** An error type of RFC 9209 section 2.3. */
  readonly error?: string
  /** `answered`: the error is that of the node. `knownLimit`: rows are missing that no node can return. */
  readonly errorKind?: 'failed' | 'answered' | 'knownLimit'
}

/** `unknown`: a write whose outcome is unknown; its fence stays for the time of its lease. */
export const INVALIDATION_CAUSES = [
  'write',
  'unknown',
  'purgeAll',
  'purgeGroup',
  'purgeEndpoint',
  'purgeTag',
  'purgeKey',
  'softPurge',
] as const
export type InvalidationCause = (typeof INVALIDATION_CAUSES)[number]

export type CacheEvent =
  /** A call to nodes for a cacheable request; `ms`: its duration. `notStorable`: the response may not be stored. */
  | {
      readonly kind: 'fetch'
      readonly group: string
      readonly outcome: 'stored' | 'notStorable' | 'failed'
      readonly ms: number
    }
  /** A request shared the call of another request. */
  | { readonly kind: 'collapsed'; readonly group: string }
  | { readonly kind: 'invalidated'; readonly cause: InvalidationCause }
  /** A snapshot of a collection was built, or not; `calls`: to the nodes. */
  | {
      readonly kind: 'snapshotBuild'
      readonly group: string
      readonly outcome: 'built' | 'failed' | SnapshotRefusal
      readonly calls: number
      readonly ms: number
    }
  /** A request that would have been a miss was answered from a stored snapshot. */
  | { readonly kind: 'snapshotQuery'; readonly group: string }
  /** A hit was compared with the response of the nodes. `inconclusive`: a write or a failure prevented the comparison. */
  | {
      readonly kind: 'verified'
      readonly group: string
      readonly outcome: 'same' | 'different' | 'inconclusive'
    }
  /** A read during a trial (`cache.trial`), with what the cache would have done. */
  | {
      readonly kind: 'trial'
      readonly requestId: string
      readonly group: string
      readonly route: string
      readonly cache: CacheOutcome
      readonly comparison: TrialComparison
      /** Set if the responses differ. */
      readonly difference?: CacheDifference
    }

/**
 * How the current response differs from the stored one. `error`: the manager answers with an error; `total`: `totalItems`
 * differs; `order`: the same rows in another order; `content`: anything else.
 */
export type CacheDifference = 'error' | 'total' | 'order' | 'content'

/**
 * Why a collection has no snapshot. `changed`: its pages do not agree, `nodeError`: a node answers with an error or with
 * something else than a collection, `longNumbers`: of 16 digits or more, `notStored`: Redis does not store the rows,
 * `redisLost`: Redis became unreachable meanwhile, `demand`: it would take more calls than it saves, `busy`: the nodes have no
 * idle capacity.
 */
export const SNAPSHOT_REFUSALS = [
  'tooManyRows',
  'tooManyBytes',
  'changed',
  'repeatedRows',
  'nodeError',
  'longNumbers',
  'notStored',
  'redisLost',
  'demand',
  'busy',
] as const
export type SnapshotRefusal = (typeof SNAPSHOT_REFUSALS)[number]

/**
 * Events of the Redis store. `timeout`: a command timed out · `slow`: replies come later than reads wait · `unreachable`: there
 * is no connection, or Redis refuses commands · `reachable`: reads use Redis again · `corrupt`: an entry that the edge did not
 * write · `full`: Redis did not take an entry for lack of memory · `localTierDiscarded`: after a gap in the sequence, a flush or
 * a fail-over · `unfencedWrite`: a write was acknowledged or forwarded although Redis has not recorded its invalidation, as
 * `cache.writesWithoutRedis` allows · `unconfirmed`: Redis has not confirmed a change in time, so a write was refused, answered
 * as unconfirmed or put at risk, or a purge is pending · `unacknowledged`: a replica did not acknowledge an invalidation within
 * its lease · `replayed`: pending invalidations were sent · `repaired`: a key held a value of another type and was deleted.
 */
export const STORE_EVENTS = [
  'timeout',
  'slow',
  'unreachable',
  'reachable',
  'corrupt',
  'full',
  'localTierDiscarded',
  'unfencedWrite',
  'unconfirmed',
  'unacknowledged',
  'replayed',
  'repaired',
] as const
export type StoreEvent = (typeof STORE_EVENTS)[number]

/** One step of the Redis store. `unreachable`: there was no connection. */
export interface RedisStepEvent {
  readonly outcome: 'done' | 'failed' | 'timeout' | 'unreachable'
  readonly ms: number
}

/** Writes to the log of the process. Fields never contain a password, a token or a hash. */
export type Log = (
  level: 'info' | 'warn' | 'error',
  message: string,
  fields?: Readonly<Record<string, string | number>>,
) => void
