/** The configuration file: the classic layout has a section without its name around it, and a field without both. */
import { ownField } from '../../../../core/values.ts'
import type { Answer } from '../../dialect.ts'
import { answerData, answerOf } from '../answer.ts'
import { buildCall } from '../build-call.ts'
import { RefusedError } from '../classic-error.ts'
import { toClassicSections } from '../configuration.ts'
import type { Conversation } from '../conversation.ts'
import { firstItem } from './first-item.ts'

const NO_FIELD = 1103

export async function configuration(conversation: Conversation): Promise<Answer> {
  const reply = await conversation.send(buildCall(conversation).call)
  const item = firstItem(reply)
  if (item === undefined) return answerOf(conversation, reply)
  const { section, field } = conversation.request.query
  const sections = toClassicSections(item)
  const found = section === undefined ? sections : ownField(sections, section)
  if (field === undefined) return answerData(reply, found ?? {})
  const value = ownField(found, field)
  if (value === undefined) throw new RefusedError(NO_FIELD)
  return answerData(reply, value)
}
