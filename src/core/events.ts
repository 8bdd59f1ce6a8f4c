import type { NodeFault } from './node-call.ts'
import type { CacheStatus } from './response.ts'

/**
 * What the parts of the edge tell of themselves while it runs: plain facts, bounded in kind, for metrics, the console
 * and the audit. Never a raw URL, a query value, a header or a body. Whoever listens must neither throw nor wait.
 */

/** How the cache dealt with a request. `bypass`: it was not asked or may not keep it; `none`: refused before, or an error. */
export type CacheOutcome = 'hit' | 'stale' | 'miss' | 'bypass' | 'none'

/** Cache-Status in one word. */
export function cacheOutcomeOf({ hit, fwd, detail }: CacheStatus): CacheOutcome {
  if (detail?.startsWith('stale-')) return 'stale'
  if (hit) return 'hit'
  return fwd === 'uri-miss' || fwd === 'stale' ? 'miss' : 'bypass'
}

/** One request, told once, after its answer left or its client did. */
export interface RequestEvent {
  readonly requestId: string
  /** GET, HEAD, PUT, POST, DELETE, OPTIONS, or `other`. */
  readonly method: string
  /** The route template, or `unknown`. */
  readonly route: string
  /** The cache group of the route, or `none`. */
  readonly group: string
  /** 0: the client left before there was an answer. */
  readonly status: number
  /** Milliseconds from the head of the request to the end of the answer. */
  readonly ms: number
  /** Of the body, as sent. */
  readonly bytes: number
  readonly cache: CacheOutcome
  /** Milliseconds of a node's time that the answer cost when it was fetched; there for what came out of the cache. */
  readonly fetchTime: number | undefined
  /** Absent: nobody was let in. */
  readonly caller: string | undefined
  readonly client: string
  /** The code with which the edge refused it before anything could come of it; absent: it went on. */
  readonly refusal?: number | undefined
}

/** What is told of a request that was refused; the route may be one of the operators' own. */
export type RefusedRequestEvent = Pick<
  RequestEvent,
  'requestId' | 'caller' | 'client' | 'method' | 'route' | 'status' | 'refusal'
>

/** One call to one node, when it is over (a raw file: when its last byte came). */
export interface NodeCallEvent {
  readonly requestId: string
  readonly node: string
  readonly method: string
  /** The route template on the node, or `unknown`. */
  readonly route: string
  /** Either is there. */
  readonly status?: number
  readonly fault?: NodeFault
  /** Milliseconds on the node, and in our own line before. */
  readonly ms: number
  readonly queueTime: number
}

/** One answer put together of what several nodes gave: told when it is made, not when it comes out of the cache. */
export interface JoinEvent {
  readonly requestId: string
  /** The route template. */
  readonly route: string
  /** Milliseconds until the last node had given its part, and the answer was whole. */
  readonly ms: number
  /** Those that are known and were asked; a name that the client made up is not told. */
  readonly nodes: readonly NodeContribution[]
}

/** What one node did for such an answer. */
export interface NodeContribution {
  readonly node: string
  /** Its rows on the page, and of how many; absent: it gave none, since it failed. */
  readonly rows?: number
  readonly total?: number
  /** Milliseconds until the last of its parts had come; absent: all that it gave had been kept. */
  readonly ms?: number
  /** A word of RFC 9209 section 2.3. */
  readonly error?: string
}

/** What made kept answers stale. `unknown`: a write whose outcome nobody knows; its fence stays. */
export type InvalidationCause = 'write' | 'unknown' | 'purgeAll' | 'purgeGroup' | 'purgeKey' | 'softPurge'

export type CacheEvent =
  /** Nodes were asked for what may be kept. `ms`: their time. */
  | {
      readonly kind: 'fetch'
      readonly group: string
      readonly outcome: 'kept' | 'unkept' | 'failed'
      readonly ms: number
    }
  /** A request waited for the call of another one. */
  | { readonly kind: 'collapsed'; readonly group: string }
  | { readonly kind: 'invalidated'; readonly cause: InvalidationCause; readonly tags: number }
  /** A hit was also asked of the nodes. `void`: a write or a failure came between, so it says nothing. */
  | { readonly kind: 'verified'; readonly group: string; readonly outcome: 'same' | 'different' | 'void' }

/** Steps of the shared store. */
export interface RedisStepEvent {
  readonly outcome: 'done' | 'failed' | 'late' | 'away'
  readonly ms: number
}

export interface EventListeners {
  request?(event: RequestEvent): void
  nodeCall?(event: NodeCallEvent): void
  join?(event: JoinEvent): void
  cache?(event: CacheEvent): void
  redisStep?(event: RedisStepEvent): void
  /** Events of the store, in its own few words (`lost`, `returned`, …). */
  storeEvent?(event: string): void
}

/** Where the room reports. Facts never hold a password, a token or a hash. */
export type Log = (
  level: 'info' | 'warn' | 'error',
  message: string,
  facts?: Readonly<Record<string, string | number>>,
) => void
