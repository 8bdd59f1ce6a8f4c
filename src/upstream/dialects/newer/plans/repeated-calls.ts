/** Plans that send a call several times: for each part of a list, or again because the node does its work a moment later. */
import { EdgeError } from '../../../../core/errors.ts'
import { withTimeout } from '../../../../core/timing.ts'
import { ownField } from '../../../../core/values.ts'
import type { Answer, DialectResult } from '../../dialect.ts'
import { answerError, answerOf } from '../answer.ts'
import { buildCall } from '../build-call.ts'
import type { Content, Success } from '../content.ts'
import {
  CallFailedError,
  type Conversation,
  chunksOf,
  type NewerCall,
  type Reply,
  UnreadableReplyError,
} from '../conversation.ts'
import { classicError } from '../errors.ts'

/** One call, or the same call for each part of a list that does not fit into one request line. */
export async function oneCall(conversation: Conversation): Promise<Answer> {
  const { call, further = [], byEdge } = buildCall(conversation)
  let reply = await conversation.send(call)
  for (const [index, next] of further.entries()) {
    if (reply.content.kind !== 'success') break
    reply = joinReplies(reply.content, await sendFurther(conversation, next, index + 1, further.length + 1))
  }
  return answerOf(conversation, reply, byEdge)
}

/** Throws 932 or 933: calls before this one were carried out. `done`: their number. */
async function sendFurther(
  conversation: Conversation,
  call: NewerCall,
  done: number,
  all: number,
): Promise<Reply & { readonly content: Success }> {
  const fail = (reason: string, isUnknown: boolean): never => {
    throw new EdgeError(
      isUnknown ? 933 : 932,
      ` (${conversation.node}: ${done} of ${all} parts of the list; ${reason})`,
    )
  }
  try {
    const { response, content } = await conversation.send(call)
    if (content.kind === 'success') return { response, content }
    return fail(content.kind === 'problem' ? content.detail : 'a file instead of a result', false)
  } catch (error) {
    if (error instanceof CallFailedError) return fail(error.failure.detail, error.failure.sent)
    if (error instanceof UnreadableReplyError) return fail(error.message, true)
    throw error
  }
}

function joinReplies(before: Success, { response, content }: Reply & { readonly content: Success }): Reply {
  const items = [...(before.items ?? []), ...(content.items ?? [])]
  const failed = [...before.failed, ...content.failed]
  return { response, content: { ...content, items, failed, total: before.total + content.total } }
}

/** The request has no conditions, so this is the meaning of the code. */
const NOT_ELIGIBLE = 1731
/** The database has a new agent within a second. */
const DATABASE_DELAY_MS = 1_000

/** Removes an agent. The node does not find a new agent in its database at once, and then removes nothing. */
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

const INTERVAL_MS = 5_000
const DEFAULT_ATTEMPTS = 3
const TIME_LIMIT_MS = 10_000

const RUNNING: ReadonlySet<unknown> = new Set(['In queue', 'Updating', 'In progress'])
const DONE = 'Updated'

/**
 * Waits for the outcome of an upgrade. The node of the classic layout looks for it itself: at once, and then every 5 s as
 * often as `timeout` says, but no longer than its time limit of 10 s. The newer one answers with the state of the task.
 */
export async function upgradeResult(conversation: Conversation): Promise<Answer> {
  const { request } = conversation
  const { call } = buildCall(conversation)
  const attempts = Number(request.query.timeout ?? DEFAULT_ATTEMPTS)
  const allowed = request.waitForComplete ? Number.POSITIVE_INFINITY : Math.min(TIME_LIMIT_MS, conversation.remaining)
  let reply = await conversation.send(call)
  for (let attempt = 1; isRunning(reply.content); attempt++) {
    if (attempt > attempts) return answerError(reply, classicError(1716))
    if (attempt * INTERVAL_MS > allowed) return answerError(reply, classicError(3021))
    await pause(INTERVAL_MS, request.client.signal)
    reply = await conversation.send(call)
  }
  return outcomeOf(conversation, reply)
}

function outcomeOf(conversation: Conversation, reply: Reply): Answer {
  const status = statusOf(reply.content)
  return status === undefined || status === DONE
    ? answerOf(conversation, reply)
    : answerError(reply, classicError(1716))
}

function isRunning(content: Content): boolean {
  return RUNNING.has(statusOf(content))
}

/** Returns the state of the task; `undefined`: there is none. */
function statusOf(content: Content): unknown {
  return content.kind === 'success' ? ownField(content.items?.[0], 'status') : undefined
}

/** Resolves after the time in milliseconds. Rejects with the reason of the signal as soon as it is aborted. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return withTimeout(new Promise<never>(() => undefined), ms, undefined, signal)
}
