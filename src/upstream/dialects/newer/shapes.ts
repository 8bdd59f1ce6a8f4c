/** Shapes of `data` that only one kind of response has. */
import type { OwnShape } from '../../../catalogue/newer/translation.ts'
import { ownField } from '../../../core/values.ts'
import type { Success } from './content.ts'
import type { Conversation } from './conversation.ts'

export const shapes: Readonly<Record<OwnShape, (conversation: Conversation, content: Success) => unknown>> = {
  agentSummary: (_, { data }) => summaryOf(ownField(data, 'connection')),
}

/** The newer layout does not count the manager itself, which is agent 000 and always active. */
function summaryOf(counts: unknown): unknown {
  const count = (name: string) => Number(ownField(counts, name) ?? 0)
  return {
    Total: count('total') + 1,
    Active: count('active') + 1,
    Disconnected: count('disconnected'),
    'Never connected': count('never_connected'),
    Pending: count('pending'),
  }
}
