/** One call, or a list in parts: the plan of most requests. */

import { EdgeError } from '../../../core/errors.ts'
import type { Answer } from '../../dialect.ts'
import { answerOf } from '../answer.ts'
import { buildCall } from '../build-call.ts'
import type { V4Call } from '../call.ts'
import type { Success } from '../content.ts'
import type { Conversation } from '../conversation.ts'
import { EndedError, type Reply } from '../reply.ts'

/** One call, or the same call for each part of a list that does not fit into one request line. */
export async function oneCall(conversation: Conversation): Promise<Answer> {
  const { call, further = [], byEdge } = buildCall(conversation)
  let reply = await conversation.send(call)
  for (const [index, next] of further.entries()) {
    if (reply.content.kind !== 'success') break
    reply = joinReplies(reply.content, await sendFurther(conversation, next, index + 1, further.length + 1))
  }
  return answerOf(conversation, reply, byEdge)
}

/** Throws 932 or 933: calls before this one were carried out. `done`: their number. */
async function sendFurther(
  conversation: Conversation,
  call: V4Call,
  done: number,
  all: number,
): Promise<Reply & { readonly content: Success }> {
  const fail = (reason: string, isUnknown: boolean): never => {
    throw new EdgeError(
      isUnknown ? 933 : 932,
      ` (${conversation.node}: ${done} of ${all} parts of the list; ${reason})`,
    )
  }
  try {
    const { response, content } = await conversation.send(call)
    if (content.kind === 'success') return { response, content }
    return fail(content.kind === 'problem' ? content.detail : 'a file instead of a result', false)
  } catch (error) {
    if (error instanceof EndedError) return fail(error.message, error.sent)
    throw error
  }
}

function joinReplies(before: Success, { response, content }: Reply & { readonly content: Success }): Reply {
  const items = [...(before.items ?? []), ...(content.items ?? [])]
  const failed = [...before.failed, ...content.failed]
  return { response, content: { ...content, items, failed, total: before.total + content.total } }
}
