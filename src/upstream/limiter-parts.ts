/** What the parts of a limiter share: the calls that have entered, and the state of the node. */
import type { CallBudget } from './call-budget.ts'
import type { CallTimes } from './call-times.ts'
import type { EnteredCall, Flows } from './flows.ts'
import type { Rejection } from './node-response.ts'
import type { NodeLimits } from './options.ts'
import type { CallQueue } from './queue.ts'
import type { Slots } from './slots.ts'

export type Acquisition = { readonly ok: true } | Rejection

export interface QueuedCall extends EnteredCall {
  /** Monotonic milliseconds. */
  readonly queuedAt: number
  /** Milliseconds that were left then. */
  readonly timeout: number
  /** Whether the node can still answer before the deadline if the call is sent in `wait` milliseconds. */
  isInTime(wait?: number): boolean
  settle(result: Acquisition): void
}

export interface LimiterOptions {
  readonly limits: () => Pick<NodeLimits, 'inFlight' | 'queue' | 'timeout'>
  /** Monotonic milliseconds. */
  readonly clock: () => number
  /** Returns `undefined` while the node has no limit of calls per minute. */
  readonly budget: () => CallBudget | undefined
}

export interface LimiterParts extends LimiterOptions {
  readonly slots: Slots
  readonly queue: CallQueue<QueuedCall>
  readonly flows: Flows
  readonly times: CallTimes
}
