/** The outcome of an upgrade, which goes on while the node answers. */

import { ownField } from '../../../core/values.ts'
import type { Answer } from '../../dialect.ts'
import { answerError, answerOf } from '../answer.ts'
import { buildCall } from '../build-call.ts'
import type { Content } from '../content.ts'
import type { Conversation } from '../conversation.ts'
import { v3Error } from '../errors.ts'

const INTERVAL_MS = 5_000
const DEFAULT_ATTEMPTS = 3
const TIME_LIMIT_MS = 10_000

const RUNNING: ReadonlySet<unknown> = new Set(['In queue', 'Updating', 'In progress'])
const DONE = 'Updated'

/**
 * Waits for the outcome of an upgrade. The node of the v3 layout looks for it itself: at once, and then every 5 s as
 * often as `timeout` says, but no longer than its time limit of 10 s. The v4 one answers with the state of the task.
 */
export async function upgradeResult(conversation: Conversation): Promise<Answer> {
  const { request } = conversation
  const { call } = buildCall(conversation)
  const attempts = Number(request.query.timeout ?? DEFAULT_ATTEMPTS)
  const allowed = request.waitForComplete ? Number.POSITIVE_INFINITY : Math.min(TIME_LIMIT_MS, conversation.remaining)
  let reply = await conversation.send(call)
  for (let attempt = 1; RUNNING.has(stateOf(reply.content)); attempt++) {
    if (attempt > attempts) return answerError(reply, v3Error(1716))
    if (attempt * INTERVAL_MS > allowed) return answerError(reply, v3Error(3021))
    await conversation.pause(INTERVAL_MS, request.client.signal)
    reply = await conversation.send(call)
  }
  const status = stateOf(reply.content)
  return status === undefined || status === DONE ? answerOf(conversation, reply) : answerError(reply, v3Error(1716))
}

/** Returns the state of the task; `undefined`: there is none. */
function stateOf(content: Content): unknown {
  return content.kind === 'success' ? ownField(content.items?.[0], 'status') : undefined
}
