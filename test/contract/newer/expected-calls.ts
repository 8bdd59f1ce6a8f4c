/** What a node answers during the replay of one exchange: the recorded response for the recorded call. */
import { canonicalCall, isRecordedCall, type SeenCall } from './calls.ts'
import { classicOrderOf } from './classic-orders.ts'
import type { ClassicRequest } from './classic-request.ts'
import type { NewerExchange } from './exchanges.ts'

export type Reply = Pick<NewerExchange['response'], 'status' | 'headers' | 'body'>

/** Returns the response for a call other than the recorded one; undefined: the call is not expected. */
export type FurtherReplies = (call: SeenCall, canonical: string) => Reply | undefined

export interface ExpectedCalls {
  /** The calls of the edge, in canonical form. */
  readonly calls: readonly string[]
  /** The calls that nothing was recorded for. */
  readonly unexpected: readonly string[]
  answer(call: SeenCall): Reply | undefined
}

export function recordedCall({ node, request }: NewerExchange): SeenCall {
  return { node, method: request.method, path: request.path, body: request.body ?? undefined }
}

export function expectCalls(
  { endpoint }: ClassicRequest,
  exchange: NewerExchange,
  furtherReply: FurtherReplies,
): ExpectedCalls {
  const calls: string[] = []
  const unexpected: string[] = []
  const recorded = recordedCall(exchange)
  const order = classicOrderOf(endpoint)
  return {
    calls,
    unexpected,
    answer(call) {
      const canonical = canonicalCall(call)
      calls.push(canonical)
      const found = isRecordedCall(call, recorded, order) ? exchange.response : furtherReply(call, canonical)
      if (found === undefined) unexpected.push(canonical)
      return found
    },
  }
}
