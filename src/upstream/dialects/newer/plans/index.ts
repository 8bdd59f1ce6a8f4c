/** The plans of the newer layout: how many calls a request needs, and what they give together. */
import type { Plan } from '../../../../catalogue/newer/translation.ts'
import type { Answer } from '../../dialect.ts'
import { answerOf } from '../answer.ts'
import { buildCall } from '../build-call.ts'
import type { Conversation } from '../conversation.ts'
import { download } from './download.ts'
import type { RunPlan } from './plan.ts'

export const plans: Readonly<Record<Plan | 'oneCall', RunPlan>> = { oneCall, download: download(oneCall) }

async function oneCall(conversation: Conversation): Promise<Answer> {
  const { call, byEdge } = buildCall(conversation)
  return answerOf(conversation, await conversation.send(call), byEdge)
}
