/** The bodies of calls of the newer layout. */
import type { BodyRule } from '../../../catalogue/newer/translation.ts'
import { formatBody } from '../node-call.ts'
import type { Conversation, NewerCall } from './conversation.ts'

type CreateBody = (conversation: Conversation) => NewerCall['body']

export const bodies: Readonly<Record<Exclude<BodyRule, 'none'> | 'same', CreateBody>> = {
  same: ({ request }) => request.body && formatBody(request.body),
}
