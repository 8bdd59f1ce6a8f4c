/** Rows of one agent, of calls that look for its database before they look for the agent. */
import type { Answer } from '../../dialect.ts'
import { answerError, answerOf } from '../answer.ts'
import { buildCall } from '../build-call.ts'
import { classicError } from '../classic-error.ts'
import type { Conversation } from '../conversation.ts'

const NO_DATABASE = 2007
const NO_AGENT = 1701

/** Agents that exist have no database before they have sent data: then there are no rows. */
export async function rowsOfAgent(conversation: Conversation): Promise<Answer> {
  const { call, byEdge } = buildCall(conversation)
  const reply = await conversation.send(call)
  const { content } = reply
  if (content.kind !== 'problem' || content.code !== NO_DATABASE) return answerOf(conversation, reply, byEdge)
  const query = { agents_list: conversation.fill(':agent_id'), select: 'id' }
  const { content: agent } = await conversation.send({ method: 'GET', path: '/agents', query })
  const isUnknown = agent.kind === 'success' && agent.failed.some(({ code }) => code === NO_AGENT)
  return isUnknown ? answerError(reply, classicError(NO_AGENT)) : answerOf(conversation, reply)
}
