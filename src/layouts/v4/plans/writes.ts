/**
 * Writes, and checks of nodes, that need more than one call, or whose response the edge checks: a list in parts, a call
 * again because the node does its work a moment later, removed groups, and restarts and validations of one node or of all.
 */

import { isUnfinishedError } from '../../../core/envelope.ts'
import { EdgeError } from '../../../core/errors.ts'
import { REFUSED_BY_RIGHTS } from '../../../core/response.ts'
import { ownField, ownText } from '../../../core/values.ts'
import type { Answer, DialectResult } from '../../dialect.ts'
import { itemError } from '../affected.ts'
import { answerData, answerError, answerOf } from '../answer.ts'
import { buildCall } from '../build-call.ts'
import { ALL_FAILED, type Content, type FailedItems, type Success } from '../content.ts'
import type { Conversation, V4Call } from '../conversation.ts'
import { errorOf, meaningOf, RefusedError, v3Error } from '../errors.ts'
import { EndedError, type Reply, successOf } from '../reply.ts'
import { chunksOf } from '../request-line.ts'

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
  call: V4Call,
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
    if (error instanceof EndedError) return fail(error.message, error.sent)
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
  for (let attempt = 1; RUNNING.has(statusOf(reply.content)); attempt++) {
    if (attempt > attempts) return answerError(reply, v3Error(1716))
    if (attempt * INTERVAL_MS > allowed) return answerError(reply, v3Error(3021))
    await conversation.pause(INTERVAL_MS, request.client.signal)
    reply = await conversation.send(call)
  }
  const status = statusOf(reply.content)
  return status === undefined || status === DONE ? answerOf(conversation, reply) : answerError(reply, v3Error(1716))
}

/** Returns the state of the task; `undefined`: there is none. */
function statusOf(content: Content): unknown {
  return content.kind === 'success' ? ownField(content.items?.[0], 'status') : undefined
}

/*
 * A node that is not connected, or that the caller may not use, is missing from the response of the cluster without an
 * error.
 */

const MISSING = 'missing in the response of the cluster'
const DENIED = { code: REFUSED_BY_RIGHTS, message: 'Permission denied', status: 403 }

/** Throws 932 if only some nodes restart, and 933 if it is unknown whether others do. */
export async function restart(conversation: Conversation): Promise<Answer> {
  const reply = await conversation.send(buildCall(conversation).call)
  const { content } = reply
  if (content.kind !== 'success' || content.error === ALL_FAILED) return answerOf(conversation, reply)
  const done = (content.items ?? []).map(String)
  if (done.length === 0) return answerError(reply, DENIED)
  const failures = content.failed.flatMap(({ code, message, ids }) => ids.map((id) => `${id}: ${code} ${message}`))
  const missing = missingWorkers(conversation, [...done, ...idsOf(content.failed)])
  const notDone = [...failures, ...missing.map((name) => `${name}: ${MISSING}`)]
  if (notDone.length === 0) return answerOf(conversation, reply)
  const code = content.failed.some((failure) => isUnfinishedError(failure.code)) ? 933 : 932
  throw new EdgeError(code, ` (carried out on ${done.join(', ')}; not on ${notDone.join('; ')})`)
}

/** The code with which a node reports that its configuration is not valid. */
const INVALID_CONFIGURATION = 1908

/** Without the verdicts of all nodes there is none. Throws 924 for nodes that are missing. */
export async function verdict(conversation: Conversation): Promise<Answer> {
  const reply = await conversation.send(buildCall(conversation).call)
  const content = successOf(reply)
  const { items = [], failed } = content
  const fault = failed.find(({ code }) => code !== INVALID_CONFIGURATION)
  if (fault !== undefined) return answerError(reply, errorOfNode(fault, conversation))
  if (items.length === 0 && failed.length === 0) return answerError(reply, DENIED)
  const names = items.map((item) => ownText(item, 'name') ?? '')
  const missing = missingWorkers(conversation, [...names, ...idsOf(failed)])
  if (missing.length > 0) throw new EdgeError(924, ` (${missing.join(', ')}: ${MISSING})`)
  const details = detailsOf(content)
  return answerData(reply, details === undefined ? { status: 'OK' } : { status: 'KO', details })
}

/** The error names the node, unless the request does. */
function errorOfNode({ code, message, ids }: FailedItems, { translation, request }: Conversation) {
  const meaning = meaningOf(code, translation.errors)
  const error = errorOf(typeof meaning === 'number' ? meaning : code, code, message)
  const isOfEvery = request.endpoint.target.kind === 'everyNode'
  return isOfEvery ? { ...error, message: `${error.message} (${ids.join(', ')})` } : error
}

/** Returns what is wrong on any node; `undefined` if all are valid. Everything except OK is KO. */
function detailsOf({ items = [], failed }: Success): readonly unknown[] | undefined {
  const refusing = items.filter((item) => ownField(item, 'status') !== 'OK')
  if (refusing.length === 0 && failed.length === 0) return undefined
  const ofItems = refusing.flatMap((item) => ownField(item, 'details') ?? [])
  return [...new Set([...ofItems, ...failed.map(({ message }) => message.replace(/^[^:]*: /, ''))])]
}

function idsOf(failed: readonly FailedItems[]): readonly string[] {
  return failed.flatMap(({ ids }) => ids)
}

/** Returns the workers that a request to all nodes has not reached. The master is the one that answers. */
function missingWorkers(conversation: Conversation, reached: readonly string[]): readonly string[] {
  if (conversation.request.endpoint.target.kind !== 'everyNode') return []
  return conversation.workers().filter((name) => !reached.includes(name))
}

const DEFAULT_GROUP = 'default'
/** For the node this word means every group. No group can have this name there. */
const EVERY_GROUP = 'all'
/** Names in one query for members, in bytes: each name has a condition around it. */
const MAX_NAMES_BYTES = 3_000

interface Failure {
  readonly id: string
  readonly error: { readonly message: string; readonly code: number }
}

/**
 * Removes groups. The v3 layout names the agents that lose a group, and the v4 one does not: the edge reads the
 * members before. Throws 1712: the default group cannot be removed. Then nothing is sent.
 */
export async function removeGroups(conversation: Conversation): Promise<Answer> {
  const { call } = buildCall(conversation)
  const names = [...new Set((call.query.groups_list ?? '').split(','))]
  if (names.includes(DEFAULT_GROUP)) throw new RefusedError(1712)
  const removed = names.filter((name) => name !== EVERY_GROUP && name !== '')
  const unknown = names.filter((name) => name === EVERY_GROUP).map((id) => failureOf(conversation, id, 1710, ''))
  if (removed.length === 0) return answerData({}, dataOf(conversation, { failures: unknown, groups: [], agents: [] }))
  const members = await readMembers(conversation, removed)
  const reply = await conversation.send({ ...call, query: { ...call.query, groups_list: removed.join(',') } })
  return answerData(reply, resultOf(conversation, successOf(reply), unknown, members))
}

function resultOf(
  conversation: Conversation,
  { items = [], failed }: Success,
  unknown: readonly Failure[],
  members: ReadonlyMap<string, ReadonlySet<string>>,
): unknown {
  const groups = items.map(String)
  const failures = failed.flatMap(({ code, message, ids }) => {
    const meaning = meaningOf(code, undefined)
    return typeof meaning === 'number' ? ids.map((id) => failureOf(conversation, id, meaning, message)) : []
  })
  const agents = [...members].filter(([, memberOf]) => groups.some((group) => memberOf.has(group))).map(([id]) => id)
  return dataOf(conversation, { failures: [...unknown, ...failures], groups, agents })
}

function failureOf(conversation: Conversation, id: string, code: number, message: string): Failure {
  return { id, error: itemError(conversation, code, { id, code, message }) }
}

function dataOf(
  { translation: { response } }: Conversation,
  result: {
    readonly failures: readonly Failure[]
    readonly groups: readonly string[]
    readonly agents: readonly string[]
  },
): unknown {
  const { failures, groups, agents } = result
  const texts = response.kind === 'affected' ? response : { all: '', some: '' }
  return {
    msg: failures.length === 0 ? texts.all : texts.some,
    ...(failures.length > 0 && { failed_ids: failures }),
    ids: groups,
    affected_agents: agents,
  }
}

/** Returns the groups of each member, by its id. */
async function readMembers(
  conversation: Conversation,
  names: readonly string[],
): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const groups = new Map<string, ReadonlySet<string>>()
  for (const chunk of chunksOf(names, MAX_NAMES_BYTES)) {
    const q = chunk
      .split(',')
      .map((name) => `group=${name}`)
      .join(',')
    for (const item of await conversation.readAgents({ q, select: 'id,group' })) {
      const id = ownText(item, 'id')
      const memberOf = typeof item === 'object' && item !== null && 'group' in item ? item.group : undefined
      if (id !== undefined && Array.isArray(memberOf)) groups.set(id, new Set(memberOf.map(String)))
    }
  }
  return groups
}
