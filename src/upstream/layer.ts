/** What the layers of the stack of a node (`stack.ts`) have in common. */
import type { NodeCallEvent } from '../core/events.ts'
import type { ClusterView, NodeCall, NodeFailure } from '../core/node-call.ts'
import type { LayoutRules } from '../layouts/layout-rules.ts'
import { notSent, routeOf, type Send } from './call.ts'
import type { CallBudget } from './call-budget.ts'
import type { DrainedNodes } from './drains.ts'
import type { AgentReads } from './failure/agent-reads.ts'
import type { NodeHealth } from './failure/health.ts'
import type { PassedOnCalls } from './failure/passed-on-calls.ts'
import type { LayoutState } from './layouts.ts'
import type { ConcurrencyLimiter } from './limiter.ts'
import type { Rejection } from './node-response.ts'
import type { ClusterSettings } from './options.ts'
import type { TokenCalls } from './tokens/token-calls.ts'

/** Returns what passes a call on to `next`, or answers it. */
export type Layer = (next: Send) => Send

/** What the layers of one node share. */
export interface StackParts extends Pick<ClusterSettings, 'clock' | 'limits' | 'onCall'> {
  readonly node: string
  readonly layout: LayoutState
  readonly confirmLayout?: ClusterView['confirmLayout'] | undefined
  readonly drained: DrainedNodes
  readonly passedOn: Pick<PassedOnCalls, 'send'>
  readonly agentReads: AgentReads
  readonly health: NodeHealth
  readonly limiter: ConcurrencyLimiter
  /** `tokens`: those of the node; `undefined`: its layout has none. */
  readonly authorizer: { readonly tokens: Pick<TokenCalls, 'call'> | undefined }
  /** Returns the budget of calls per minute; `undefined`: the node has no such limit. */
  readonly budget: () => CallBudget | undefined
  /** The rules of its layout: whether responses show that it refuses calls. */
  readonly rules: () => Pick<LayoutRules, 'showsProblems'>
  /** Returns the release of the node; `undefined`: not known. */
  readonly release: () => string | undefined
  /** Called with the version in a response to `GET /`, whatever it was sent for. */
  readonly onVersion: (version: string) => void
  /** Sends a call once. */
  readonly transport: { readonly send: Send }
}

/** Returns the failure of a call that the node does not receive, and emits its event. */
export function reject(parts: StackParts, call: NodeCall, rejection: Rejection, queueTime = 0): NodeFailure {
  emit(parts, call, { queueTime, ms: 0, fault: rejection.fault })
  return notSent(call, rejection)
}

export function emit(
  { onCall }: StackParts,
  call: NodeCall,
  outcome: Pick<NodeCallEvent, 'queueTime' | 'ms' | 'status' | 'fault'>,
): void {
  const { requestId, node, method } = call
  onCall?.({ requestId, node, method, route: routeOf(call), ...outcome })
}
