/** The reply to a call, and the errors by which a reply ends a request. */
import type { NodeFailure, NodeResponse } from '../../core/node-call.ts'
import { describeFailure } from '../../core/node-faults.ts'
import type { DialectResult } from '../dialect.ts'
import type { Content, Success } from './content.ts'

export interface Reply {
  readonly response: NodeResponse
  readonly content: Content
}

/**
 * A call failed, or its response is not one of the API: this is the result of the whole request. `sent`: the node may have
 * done what the call asks for.
 */
export class EndedError extends Error {
  readonly result: DialectResult
  readonly sent: boolean

  constructor(result: DialectResult, reason: string, sent: boolean) {
    super(reason)
    this.name = 'EndedError'
    this.result = result
    this.sent = sent
  }
}

export function failed(failure: NodeFailure): EndedError {
  return new EndedError(failure, describeFailure(failure), failure.sent)
}

/** Returns the error for a response whose body is not one of the API. */
export function unreadable(response: NodeResponse, reason: string): EndedError {
  return new EndedError({ ok: true, response, translated: { ok: false, reason } }, reason, true)
}

/** The node has not done what a plan needs: what it answered is the answer to the request. */
export class NotDoneError extends Error {
  readonly reply: Reply

  constructor(reply: Reply) {
    super('the node has not carried out the call')
    this.name = 'NotDoneError'
    this.reply = reply
  }
}

/** Returns the content of a success. Throws `NotDoneError` for other replies. */
export function successOf(reply: Reply): Success {
  if (reply.content.kind !== 'success') throw new NotDoneError(reply)
  return reply.content
}

/** Returns the first item of a success, if it is an object. */
export function firstItem({ content }: Reply): Readonly<Record<string, unknown>> | undefined {
  const item = content.kind === 'success' ? content.items?.[0] : undefined
  return typeof item === 'object' && item !== null ? (item as Readonly<Record<string, unknown>>) : undefined
}
