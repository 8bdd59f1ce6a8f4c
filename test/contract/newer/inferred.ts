/** Recorded exchanges about the state of the cluster: they name no endpoint, so it is found by their call. */
import { classicRequestOf, isOfEndpoint } from './classic-requests.ts'
import type { NewerExchange } from './exchanges.ts'
import { inverses } from './inverses.ts'

/** About logging in and the limits of a node, which tests of tokens and budgets cover. */
const OF_TOKENS = /^\((?:429|bad token|login|login block|logout|cache)\)$/

/** Returns the exchange with the endpoint whose call has the most parameters in common; undefined: there is none. */
export function withInferredEndpoint(exchange: NewerExchange): NewerExchange | undefined {
  if (isOfEndpoint(exchange) || exchange.classic === '-' || OF_TOKENS.test(exchange.classic)) return undefined
  if (exchange.response.status === 0) return undefined
  const fixedIn = (call: string) => (call.split('?')[1] ?? '').split('&').filter(Boolean).length
  const fitting = Object.entries(inverses)
    .filter(([endpoint]) => classicRequestOf({ ...exchange, classic: endpoint }).kind === 'request')
    .map(([endpoint, [first]]) => ({ endpoint, fixed: fixedIn(first?.call ?? '') }))
    .sort((a, b) => b.fixed - a.fixed)
  const [best] = fitting
  return best && { ...exchange, classic: best.endpoint }
}
