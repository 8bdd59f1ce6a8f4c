/** What a recorded request that the manager refused must lead to. */
import { isDeepStrictEqual } from 'node:util'
import type { Outcome } from './edge-and-node.ts'
import { type ContractExchange, problemOf } from './exchanges.ts'

/** Returns what differs from the recorded refusal; none: they are alike, and no node was called. */
export function differencesOfRefusal({ response }: ContractExchange, outcome: Outcome): readonly string[] {
  const { status, type, text, calls } = outcome
  const { headers, body } = response
  const isSame = isDeepStrictEqual(problemOf(text), problemOf(body)) && text.endsWith('\n') === body.endsWith('\n')
  return [
    ...(status === response.status ? [] : [`status ${status} instead of ${response.status}`]),
    ...(type === headers['content-type'] ? [] : [`${type} instead of ${headers['content-type']}`]),
    ...(isSame ? [] : [`${text} instead of ${body}`]),
    ...(calls.length === 0 ? [] : [`${calls.length} calls`]),
  ]
}
