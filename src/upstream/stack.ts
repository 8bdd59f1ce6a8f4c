/**
 * The order of what happens to a call to one node: `createStack` lists the layers. All have one shape: a layer gets the
 * next one, and returns what sends a call through both.
 */
import type { NodeCall, NodeFailure } from '../core/node-call.ts'
import { layoutRules } from '../layouts/layout-rules.ts'
import { attempt, retryOnce } from './attempts.ts'
import { notSent, type Send } from './call.ts'
import { admit } from './call-in-slot.ts'
import { isPassedOn } from './failure/passed-on-targets.ts'
import type { Layer, StackParts } from './layer.ts'
import { sendLateAgain } from './second-attempts.ts'

/** `call`: for clients. `login`: for logins, and calls whose credentials the node checks. `probe`: past health and queue. */
export type Stack = Readonly<Record<'call' | 'login' | 'probe', Send>>

export function createStack(parts: StackParts): Stack {
  const probe = compose([attempt(parts)], parts.transport.send)
  const login = compose([admit(parts), retryOnce(parts)], probe)
  const call = compose([sendLateAgain(parts), limitPassedOn(parts), useLayout(parts)], login)
  return { call, login, probe }
}

/** The first layer is the outermost one. */
function compose(layers: readonly Layer[], last: Send): Send {
  return layers.reduceRight((next, layer) => layer(next), last)
}

const limitPassedOn =
  ({ passedOn }: StackParts): Layer =>
  (next) =>
  (call) =>
    isPassedOn(call) ? passedOn.send(call, next) : next(call)

/** Each second, a node of unknown layout is asked again. */
const UNKNOWN_LAYOUT_RETRY_AFTER_SECONDS = 1

/** The layout decides nothing about a call to a drained node, which is rejected anyway. */
export function failureOfUnknownLayout(
  { node, layout, drained }: Pick<StackParts, 'node' | 'layout' | 'drained'>,
  call: NodeCall,
): NodeFailure | undefined {
  if (layout.value !== undefined || drained.has(node)) return undefined
  return notSent(call, {
    fault: 'ejected',
    reason: 'layoutUnknown',
    about: layout.reason,
    retryAfter: UNKNOWN_LAYOUT_RETRY_AFTER_SECONDS,
  })
}

/**
 * Sends a call in the layout of the node: with a token in the v4 one. In the v3 one, the transport adds the credentials. Asks
 * the node for its layout in the background if a response does not fit it. A failure to answer is no sign of another layout,
 * and a refusal shows the layout: a wrong password leads to no question.
 */
const useLayout =
  (parts: StackParts): Layer =>
  (next) =>
  async (call) => {
    const { node, layout, authorizer, confirmLayout } = parts
    const unknown = layout.value === undefined ? failureOfUnknownLayout(parts, call) : undefined
    if (unknown !== undefined) return unknown
    const result = await (authorizer.tokens?.call(call) ?? next(call))
    const { value } = layout
    if (confirmLayout === undefined || value === undefined) return result
    const fits = result.ok
      ? layoutRules[value].mayAnswer(result.response)
      : result.fault !== 'unreadable' && (result.layout ?? value) === value
    if (!fits) void confirmLayout(node, value, result.ok ? undefined : result.layout)
    return result
  }
