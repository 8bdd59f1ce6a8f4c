/** Removes an agent. The node does not find a new agent in its database at once, and then removes nothing. */
import type { Answer } from '../../dialect.ts'
import { answerOf } from '../answer.ts'
import { buildCall } from '../build-call.ts'
import type { Content } from '../content.ts'
import type { Conversation } from '../conversation.ts'
import { pause } from '../pause.ts'

/** The request has no conditions, so this is the meaning of the code. */
const NOT_ELIGIBLE = 1731
/** The database has a new agent within a second. */
const DATABASE_DELAY_MS = 1_000

export async function removeAgent(conversation: Conversation): Promise<Answer> {
  const { call } = buildCall(conversation)
  const reply = await conversation.send(call)
  if (!isNotEligible(reply.content) || conversation.remaining <= DATABASE_DELAY_MS) return answerOf(conversation, reply)
  await pause(DATABASE_DELAY_MS, conversation.request.client.signal)
  return answerOf(conversation, await conversation.send(call))
}

function isNotEligible(content: Content): boolean {
  return content.kind === 'success' && content.failed.some(({ code }) => code === NOT_ELIGIBLE)
}
