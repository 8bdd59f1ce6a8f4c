/** Removes agents. The database of the node, which its reads use, changes a moment later than its registry. */

import { ownField } from '../../../core/values.ts'
import type { Answer, DialectResult } from '../../dialect.ts'
import { answerOf } from '../answer.ts'
import { buildCall } from '../build-call.ts'
import type { Content } from '../content.ts'
import type { Conversation } from '../conversation.ts'
import { EndedError } from '../reply.ts'
import { chunksOf } from '../request-line.ts'

/** The request has no conditions, so this is the meaning of the code. */
const NOT_ELIGIBLE = 1731
/** The database has a new agent within a second. */
const DATABASE_DELAY_MS = 1_000

/** Removes an agent. The node does not find a new agent in its database at once, and then removes nothing. */
export async function removeAgent(conversation: Conversation): Promise<Answer> {
  const { call } = buildCall(conversation)
  const reply = await conversation.send(call)
  if (!isNotEligible(reply.content) || conversation.remaining <= DATABASE_DELAY_MS) return answerOf(conversation, reply)
  await conversation.pause(DATABASE_DELAY_MS, conversation.request.client.signal)
  return answerOf(conversation, await conversation.send(call))
}

function isNotEligible(content: Content): boolean {
  return content.kind === 'success' && content.failed.some(({ code }) => code === NOT_ELIGIBLE)
}

/** Milliseconds before each read, 2 s in all: if the database still has the agents then, the edge answers all the same. */
const PAUSES_MS = [0, 50, 100, 250, 600, 1_000]

/**
 * The node answers the removal of agents when its registry has it. Its database of agents, which all reads use, has it a
 * moment later (measured for new agents: within a second). A read of that moment would still list the agents, so the edge
 * answers the removal when the database has it.
 */
export async function confirmRemoval(conversation: Conversation, result: DialectResult): Promise<void> {
  const ids = removedBy(result)
  // The node removes agents in the order of the list.
  const last = chunksOf(ids).at(-1)
  if (last === undefined) return
  try {
    for (const ms of PAUSES_MS) {
      if (ms >= conversation.remaining) return
      if (ms > 0) await conversation.pause(ms, conversation.request.client.signal)
      if (!(await isListed(conversation, last))) return
    }
  } catch (error) {
    // The removal itself has succeeded.
    if (!(error instanceof EndedError)) throw error
  }
}

async function isListed(conversation: Conversation, ids: string): Promise<boolean> {
  const { content } = await conversation.get('/agents', { agents_list: ids, select: 'id', limit: '1' })
  return content.kind === 'success' && content.items !== undefined && content.items.length > 0
}

function removedBy(result: DialectResult): readonly string[] {
  const response = result.ok && result.translated.ok ? result.translated.response : undefined
  if (response?.kind !== 'envelope' || response.errorNumber !== 0) return []
  const removed = ownField(ownField(JSON.parse(response.body.toString()), 'data'), 'affected_agents')
  return Array.isArray(removed) ? removed.map(String) : []
}
