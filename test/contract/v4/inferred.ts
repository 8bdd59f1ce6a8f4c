/** Recorded exchanges about the state of the cluster: they name no endpoint, so it is found by their call. */

import type { V4Exchange } from './exchanges.ts'
import { inverses } from './inverses.ts'
import { isOfEndpoint, v3RequestOf } from './v3-requests.ts'

/** About logging in and the limits of a node, which tests of tokens and budgets cover. */
const OF_TOKENS = /^\((?:429|bad token|login|login block|logout|cache)\)$/

/** Returns the exchange with the endpoint whose call has the most parameters in common; undefined: there is none. */
export function withInferredEndpoint(exchange: V4Exchange): V4Exchange | undefined {
  if (isOfEndpoint(exchange) || exchange.v3 === '-' || OF_TOKENS.test(exchange.v3)) return undefined
  if (exchange.response.status === 0) return undefined
  const fixedIn = (call: string) => (call.split('?')[1] ?? '').split('&').filter(Boolean).length
  const fitting = Object.entries(inverses)
    .filter(([endpoint]) => v3RequestOf({ ...exchange, v3: endpoint }).kind === 'request')
    .map(([endpoint, [first]]) => ({ endpoint, fixed: fixedIn(first?.call ?? '') }))
    .sort((a, b) => b.fixed - a.fixed)
  const [best] = fitting
  return best && { ...exchange, v3: best.endpoint }
}
