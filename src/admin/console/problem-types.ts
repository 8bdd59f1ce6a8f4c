/** Problems of the edge and the load of its nodes, as the console shows them on every view. */

export type ProblemKind =
  | 'notReady'
  | 'credentialsRefused'
  | 'weakCredentials'
  | 'addressBlocked'
  | 'nodeDown'
  | 'nodeCutOff'
  | 'queueFull'
  | 'queueGrowing'
  | 'budgetUsedUp'
  | 'redisUnreachable'
  | 'redisSlow'
  | 'redisFull'
  | 'redisWrongType'
  | 'certificateEnds'
  | 'configurationNotReloaded'
  | 'pendingRestart'
  | 'mixedLayouts'
  | 'replicaNotReady'
  | 'nodeDrained'
  | 'cacheDisabled'

/** `error`: requests fail or wait. `warning`: they will, or do for some. `notice`: a state that an operator has chosen. */
export type ProblemSeverity = 'error' | 'warning' | 'notice'

export interface Problem {
  readonly kind: ProblemKind
  readonly severity: ProblemSeverity
  /** What is wrong, as a phrase that a colon can follow. */
  readonly summary: string
  /** What follows from the problem, and what to do. */
  readonly detail: string
  /** The view of the console that shows more. */
  readonly view?: 'cache' | 'nodes'
}

/** `GET /api/problems`. The most severe problems come first. */
export interface Problems {
  readonly problems: readonly Problem[]
}

/** A queue that has become longer. */
export interface GrowingQueue {
  readonly node: string
  /** Queued calls at the begin of the observation, and now. */
  readonly from: number
  readonly to: number
}

/** A certificate that the edge uses. */
export interface CertificateState {
  /** The setting that names its file. */
  readonly setting: string
  /** End of its validity, in milliseconds since 1970. */
  readonly validTo: number
}
