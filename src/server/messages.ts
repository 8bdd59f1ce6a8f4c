/** What the supervisor and the processes of an edge send to each other (`listen.processes`). */
import type { RequestDetails } from '../admin/console/request-types.ts'
import type { Urls } from '../app/index.ts'
import type { Config } from '../config/schema.ts'
import type { ProcessMetrics } from '../telemetry/metrics/sum.ts'

/** From a process to the supervisor. */
export type FromProcess =
  /** Messages of the supervisor are received from now on; Node discards earlier ones. */
  | { readonly type: 'attached' }
  /** All ports are open. */
  | ({ readonly type: 'listening' } & Urls)
  | ({ readonly type: 'failed' } & StartFailure)
  | ({ readonly type: 'state' } & ProcessState)
  /** The metrics of this process: those that the supervisor asked for, or without `id` the last ones before it ends. */
  | { readonly type: 'metrics'; readonly id?: number; readonly metrics: ProcessMetrics }
  /** The process asks for the metrics of all processes. */
  | { readonly type: 'sum'; readonly id: number }
  /** The process asks the others for the details of a request. */
  | { readonly type: 'find'; readonly id: number; readonly request: string }
  /** The details of a request that another process asked for; absent: this process has no record of it. */
  | { readonly type: 'found'; readonly id: number; readonly details?: RequestDetails | undefined }

/** From the supervisor to a process. */
export type FromSupervisor =
  | ({ readonly type: 'group' } & GroupState)
  | ({ readonly type: 'drain' } & DrainRequest)
  /** Reload the configuration and reopen the audit file. */
  | { readonly type: 'reload' }
  /** Send the metrics of this process. */
  | { readonly type: 'metrics'; readonly id: number }
  | { readonly type: 'sum'; readonly id: number; readonly text: string }
  | { readonly type: 'find'; readonly id: number; readonly request: string }
  | { readonly type: 'found'; readonly id: number; readonly details?: RequestDetails | undefined }

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
