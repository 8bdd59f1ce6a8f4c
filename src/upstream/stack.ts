/**
 * The order of a call to one node, on one screen: each line is a layer `(next) => (call) => result`, outermost first.
 * Calls of clients enter at the top, logins at `onNode`, probes at `attempt`.
 */
import type { NodeCallEvent } from '../core/events.ts'
import type { Layout } from '../core/node-call.ts'
import type { CallBudget } from './budget.ts'
import { DRAINED } from './drains.ts'
import { type Send, stack } from './layer.ts'
import {
  authorise,
  count,
  limitHang,
  nameLayout,
  queue,
  refuseDrained,
  rejecting,
  report,
  retryOnce,
  traceAttempt,
} from './layers.ts'
import type { Layouts } from './layouts.ts'
import type { ConcurrencyLimiter } from './limiter.ts'
import type { NodeHealth } from './node-health.ts'
import type { NodeLimits } from './options.ts'
import type { PassedOnCalls } from './passed-on-calls.ts'
import { type TokensOf, type Verify, verifyBy } from './tokens/token-calls.ts'

export interface StackParts {
  readonly passedOn: PassedOnCalls
  readonly layouts: Layouts
  /** Returns the layout of the API of the node; undefined before it is recognised. */
  readonly layout: () => Layout | undefined
  /** Whether responses of the node show that it refuses calls. */
  readonly showsProblems: () => boolean
  readonly tokensOf: TokensOf
  readonly isDrained: () => boolean
  readonly health: NodeHealth
  readonly limiter: ConcurrencyLimiter
  readonly limits: () => Pick<NodeLimits, 'inFlight'>
  readonly budget: CallBudget
  readonly send: Send
  readonly onCall?: (call: NodeCallEvent) => void
  readonly clock: () => number
}

export interface CallStack {
  readonly call: Send
  /** Checks the credentials of a call, which is a read that every account may send. */
  readonly verify: Verify
  /** Sends a probe past the health and the concurrency limit of the node. */
  readonly attempt: Send
}

export function buildStack(parts: StackParts): CallStack {
  const {
    passedOn,
    layouts,
    layout,
    showsProblems,
    tokensOf,
    isDrained,
    health,
    limiter,
    limits,
    budget,
    onCall,
    clock,
  } = parts
  const reject = rejecting(onCall)

  const attempt = stack([count(budget, showsProblems)], parts.send)
  const onNode = stack(
    [
      nameLayout(layout),
      refuseDrained(isDrained, DRAINED, reject),
      health.eject(reject),
      queue(limiter, (...end) => health.signalOf(...end), reject, clock),
      limitHang(() => health.isSilent, clock),
      report(onCall, clock),
      health.observe((endpoint) => limiter.expectedTime(endpoint)),
      retryOnce(() => limits().inFlight),
      traceAttempt,
    ],
    attempt,
  )
  const call = stack([passedOn.limit, layouts.require, authorise(tokensOf)], onNode)
  return { call, verify: layouts.requireToVerify(verifyBy(tokensOf, onNode)), attempt }
}
