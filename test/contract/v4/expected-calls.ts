/** What a node answers during the replay of one exchange: the recorded response for the recorded call. */
import { canonicalCall, isRecordedCall, type SeenCall } from './calls.ts'
import type { V4Exchange } from './exchanges.ts'
import { v3OrderOf } from './v3-orders.ts'
import type { V3Request } from './v3-request.ts'

export type Reply = Pick<V4Exchange['response'], 'status' | 'headers' | 'body'>

/** Returns the response for a call other than the recorded one; undefined: the call is not expected. */
export type FurtherReplies = (call: SeenCall, canonical: string) => Reply | undefined

export interface ExpectedCalls {
  /** The calls of the edge, in canonical form. */
  readonly calls: readonly string[]
  /** The calls that nothing was recorded for. */
  readonly unexpected: readonly string[]
  answer(call: SeenCall): Reply | undefined
}

export function recordedCall({ node, request }: V4Exchange): SeenCall {
  return { node, method: request.method, path: request.path, body: request.body ?? undefined }
}

export function expectCalls(
  { endpoint }: V3Request,
  exchange: V4Exchange,
  furtherReply: FurtherReplies,
): ExpectedCalls {
  const calls: string[] = []
  const unexpected: string[] = []
  const recorded = recordedCall(exchange)
  const order = v3OrderOf(endpoint)
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
