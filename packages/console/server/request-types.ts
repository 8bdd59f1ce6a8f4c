/**
 * JSON bodies of the console API for single requests, and for what requests cost the nodes by caller and endpoint. Times are
 * milliseconds, sizes are bytes.
 */
import type { NodePart } from './node-types.ts'

/** `GET /api/requests`, an event stream: the data of one event. */
export interface TailBatch {
  readonly requests: readonly TailRequest[]
  /** Number of requests that were not sent, because the rate was too high. */
  readonly skipped: number
}

/** A request in the live tail. Carries neither query nor body. */
export interface TailRequest {
  readonly id: string
  /** Milliseconds since 1970. */
  readonly at: number
  readonly method: string
  /** The route template, or `unknown`. */
  readonly route: string
  /** The path of a request without a route, shortened and escaped, without its query. */
  readonly path?: string
  /** 0 if the client disconnected before the response. */
  readonly status: number
  readonly ms: number
  readonly bytes: number
  readonly cache: string
  readonly user: string
  readonly client: string
  /** The nodes that were called, separated by commas. */
  readonly node?: string
}

/** `GET /api/requests/:id`. `start`: time since the head of the request. */
export interface RequestDetails {
  readonly request: TailRequest
  /** The code of the error that the edge sent. */
  readonly error?: { readonly code: number; readonly text: string }
  readonly cache: CacheDecision
  /** Each is followed by the stages within it. A prepared hit has none. */
  readonly stages: readonly StageTime[]
  readonly calls: readonly CallTime[]
  /** Of a joined response that this request joined. */
  readonly joined?: { readonly ms: number; readonly nodes: readonly NodePart[] }
  /** Number of stages and calls beyond the limit of one record. */
  readonly omitted: number
}

export interface CacheDecision {
  /** hit, stale, miss, bypass or none. */
  readonly outcome: string
  readonly reason: string
  /** Remaining freshness of the served response, negative if it was stale. */
  readonly timeLeft?: number
  /** Of a hit: the time that the fetch of the stored response took. */
  readonly fetchTime?: number
}

export interface StageTime {
  readonly name: string
  /** 0: a stage of the request; 1: within the stage of depth 0 above it. */
  readonly depth: number
  readonly start: number
  /** Absent: the stage has not ended. */
  readonly ms?: number
  readonly node?: string
  /** Results, such as `miss` or `error 912`. */
  readonly notes: readonly string[]
}

export interface CallTime {
  readonly node: string
  readonly method: string
  /** The route template on the node. */
  readonly route: string
  readonly start: number
  /** Time on the node, and before in the queue of the edge. */
  readonly ms: number
  readonly queueTime: number
  /** The status of the response, or why there was none. */
  readonly result: string
  readonly failed: boolean
}

export interface CostCounts {
  readonly requests: number
  readonly hits: number
  /** Calls to nodes that these requests caused. */
  readonly calls: number
  /** The time in which nodes answered these calls. */
  readonly nodeTime: number
}

export interface CallerCost extends CostCounts {
  /** `null`: calls that no single request caused, such as refreshes ahead and checks of the edge. */
  readonly caller: string | null
}

export interface EndpointCost extends CostCounts {
  readonly caller: string | null
  /** Method and route template. */
  readonly endpoint: string
}

/** `GET /api/costs`: the node time that each caller and endpoint causes. */
export interface Costs {
  /** The time that the counts cover. */
  readonly seconds: number
  readonly total: CostCounts
  /** The costliest callers first. */
  readonly callers: readonly CallerCost[]
  /** The costliest caller and endpoint first. */
  readonly endpoints: readonly EndpointCost[]
  /** The number of replicas whose counts are added. */
  readonly replicas: number
}
