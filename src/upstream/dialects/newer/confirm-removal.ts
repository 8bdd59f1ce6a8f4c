/**
 * The node answers the removal of agents when its registry has it. Its database of agents, which all reads use, has it a
 * moment later (measured for new agents: within a second). A read of that moment would still list the agents, so the edge
 * answers the removal when the database has it.
 */
import { ownField } from '../../../core/values.ts'
import type { DialectResult } from '../dialect.ts'
import { chunksOf } from './chunks.ts'
import { CallFailedError, type Conversation, UnreadableReplyError } from './conversation.ts'
import { pause } from './pause.ts'

/** Milliseconds before each read, 2 s in all: if the database still has the agents then, the edge answers all the same. */
const PAUSES_MS = [0, 50, 100, 250, 600, 1_000]

export async function confirmRemoval(conversation: Conversation, result: DialectResult): Promise<void> {
  const ids = removedBy(result)
  // The node removes agents in the order of the list.
  const last = chunksOf(ids).at(-1)
  if (last === undefined) return
  try {
    for (const ms of PAUSES_MS) {
      if (ms >= conversation.remaining) return
      if (ms > 0) await pause(ms, conversation.request.client.signal)
      if (!(await isListed(conversation, last))) return
    }
  } catch (error) {
    // The removal itself has succeeded.
    if (!(error instanceof CallFailedError) && !(error instanceof UnreadableReplyError)) throw error
  }
}

async function isListed(conversation: Conversation, ids: string): Promise<boolean> {
  const query = { agents_list: ids, select: 'id', limit: '1' }
  const { content } = await conversation.send({ method: 'GET', path: '/agents', query })
  return content.kind === 'success' && content.items !== undefined && content.items.length > 0
}

function removedBy(result: DialectResult): readonly string[] {
  const response = result.ok && result.translated.ok ? result.translated.response : undefined
  if (response?.kind !== 'envelope' || response.errorNumber !== 0) return []
  const removed = ownField(ownField(JSON.parse(response.body.toString()), 'data'), 'affected_agents')
  return Array.isArray(removed) ? removed.map(String) : []
}
