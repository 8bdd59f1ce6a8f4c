/** What the supervisor and the processes of an edge send to each other (`listen.processes`). */
import type { Urls } from '../app/index.ts'
import type { Config } from '../config/schema.ts'
import type { ProcessMetrics } from '../telemetry/metrics/sum.ts'
import type { Call } from './calls.ts'

/** From a process to the supervisor. */
export type FromProcess =
  /** Messages of the supervisor are received from now on; Node discards earlier ones. */
  | { readonly type: 'attached' }
  /** All ports are open. */
  | ({ readonly type: 'listening' } & Urls)
  | ({ readonly type: 'failed' } & StartFailure)
  | ({ readonly type: 'state' } & ProcessState)
  /** The last metrics of this process, before it ends. */
  | { readonly type: 'lastMetrics'; readonly metrics: ProcessMetrics }
  | Call

/** From the supervisor to a process. */
export type FromSupervisor =
  | ({ readonly type: 'group' } & GroupState)
  | ({ readonly type: 'drain' } & DrainRequest)
  /** Reload the configuration and reopen the audit file. */
  | { readonly type: 'reload' }
  | Call

/** Why a process cannot start, and the exit code that a single process would have. */
export interface StartFailure {
  readonly reasons: readonly string[]
  readonly code: number
}

/** Sent after each change and each second, so that the supervisor finds a process that hangs. */
export interface ProcessState {
  /** Whether balancers should send requests to this process. */
  readonly ready: boolean
  /** Changed settings that take effect when this process is replaced. */
  readonly pendingRestart: readonly string[]
  /** Settings that the supervisor uses too. */
  readonly log: Config['log']
  readonly drain: Config['listen']['drain']
}

export interface GroupState {
  /** All processes have listened. */
  readonly hasStarted: boolean
  /** Number of other processes that are ready. */
  readonly othersReady: number
}

export interface DrainRequest {
  /** Milliseconds; absent: `listen.drain.delay`. */
  readonly delay?: number
  /** The other processes continue, and one takes the place of this one. */
  readonly isReplaced: boolean
}
