/** JSON body of `GET /api/costs`: the node time that each caller and endpoint causes. Times are milliseconds. */

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
  /** Requests that `access.limits.requestsPerSecond` counts: all but hits. */
  readonly limited: number
  /** The same in the busiest second. Of several replicas: the sum of theirs. */
  readonly peak: number
}

export interface EndpointCost extends CostCounts {
  readonly caller: string | null
  /** Method and route template. */
  readonly endpoint: string
}

export interface RateLimitProposal {
  readonly caller: string
  readonly requestsPerSecond: number
  readonly settings: string
}

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
  /** Absent: no limit would help, as `advice` explains. */
  readonly proposal?: RateLimitProposal
  readonly advice: string
}
