/** The options of a listener. */
import type { FramingLimits } from './framing.ts'
import type { RejectedRequest, RejectionForm } from './reject.ts'

/** What a reload may change. */
export interface ListenerSettings {
  readonly tls?: TlsFiles | undefined
  /** `pipelined`: requests that may be queued behind the current one, on one connection. */
  readonly limits: FramingLimits & { readonly pipelined: number }
  /** Milliseconds. */
  readonly timeouts: Timeouts
  /** Host names that are served, without port; empty: all. */
  readonly hosts: readonly string[]
}

export interface ListenerOptions extends ListenerSettings {
  /** OPTIONS is served (preflight requests of browsers). */
  readonly cors: boolean
  readonly log: ListenerLog
  /** How errors are written; absent: as in the classic contract. */
  readonly rejectionForm?: RejectionForm | undefined
  /** Called for each request that is not passed on. */
  readonly onReject?: (rejected: RejectedRequest) => void
  /** Milliseconds between two checks for slow connections. */
  readonly interval?: number
}

export interface Timeouts {
  /** Until all headers are received. */
  readonly headers: number
  /** Until the whole request is received. */
  readonly body: number
  /** Without progress of a client that reads its response. */
  readonly write: number
  /** Until the body begins after `100 Continue`. */
  readonly expect: number
  /** Between two requests. */
  readonly idle: number
}

export interface ListenerLog {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
}

export interface TlsFiles {
  readonly cert: string
  readonly key: string
}
