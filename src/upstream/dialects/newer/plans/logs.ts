/** Log entries, of which a node returns at most 500 at once. It reads the last 2,000 lines. */
import type { Answer } from '../../dialect.ts'
import { answerOf } from '../answer.ts'
import { buildCall } from '../build-call.ts'
import type { Conversation, NewerCall, Reply } from '../conversation.ts'

const MAX_PAGE = 500

export async function logs(conversation: Conversation): Promise<Answer> {
  const { call, byEdge } = buildCall(conversation)
  return answerOf(conversation, await sendPages(conversation, call), byEdge)
}

/** Returns the reply with the entries of all pages that the call asks for, or the first reply without entries. */
async function sendPages(conversation: Conversation, call: NewerCall): Promise<Reply> {
  const offset = Number(call.query.offset ?? 0)
  const limit = Number(call.query.limit ?? MAX_PAGE)
  if (limit <= MAX_PAGE) return conversation.send(call)
  const first = await conversation.send(pageOf(call, offset, limit))
  const { content } = first
  if (content.kind !== 'success' || content.items === undefined) return first
  const end = Math.min(offset + limit, content.total)
  const items = [...content.items]
  for (let at = offset + MAX_PAGE; at < end; at += MAX_PAGE) {
    const next = await conversation.send(pageOf(call, at, end - at))
    if (next.content.kind !== 'success' || next.content.items === undefined) return next
    // The log was rotated meanwhile, or the total is wrong.
    if (next.content.items.length === 0) break
    items.push(...next.content.items)
  }
  return { ...first, content: { ...content, items } }
}

function pageOf(call: NewerCall, offset: number, limit: number): NewerCall {
  return { ...call, query: { ...call.query, offset: String(offset), limit: String(Math.min(limit, MAX_PAGE)) } }
}
