/**
 * Removes groups. The v3 layout names the agents that lose a group, and the v4 one does not: the edge reads the
 * members before.
 */

import { ownText } from '../../../core/values.ts'
import type { Answer } from '../../dialect.ts'
import { itemError } from '../affected.ts'
import { answerData } from '../answer.ts'
import { buildCall } from '../build-call.ts'
import type { Success } from '../content.ts'
import type { Conversation } from '../conversation.ts'
import { meaningOf, RefusedError } from '../errors.ts'
import { successOf } from '../reply.ts'
import { chunksOf } from '../request-line.ts'

const DEFAULT_GROUP = 'default'
/** For the node this word means every group. No group can have this name there. */
const EVERY_GROUP = 'all'
/** Names in one query for members, in bytes: each name has a condition around it. */
const MAX_NAMES_BYTES = 3_000

interface Failure {
  readonly id: string
  readonly error: { readonly message: string; readonly code: number }
}

/** Throws 1712: the default group cannot be removed. Then nothing is sent. */
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
