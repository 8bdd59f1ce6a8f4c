/** Summaries of all agents, to which the edge adds agent 000, the manager itself. */

import type { Row } from '../../../collections/value.ts'
import { isRelease5 } from '../../../core/node-call.ts'
import { REFUSED_BY_RIGHTS } from '../../../core/response.ts'
import { ownField } from '../../../core/values.ts'
import type { Answer } from '../../dialect.ts'
import { answerData, answerOf, type RunPlan } from '../answer.ts'
import { buildCall } from '../build-call.ts'
import { checkRoom } from '../call-limits.ts'
import type { Conversation } from '../conversation.ts'
import { firstItem, successOf } from '../reply.ts'
import { createRowConverter } from '../rows.ts'

type MakeData = (conversation: Conversation, data: unknown, manager: Row | undefined) => unknown

export const summary = withManager('node_name,os.name,os.platform,os.version,version', overviewOf)

export const agentCounts = withManager('id', (_, data, manager) => countsOf(ownField(data, 'connection'), manager))

/**
 * Returns the plan of a summary of all agents. The node does not count agent 000, the manager itself: the edge adds it for
 * callers who may read it, as the node counts for each caller the agents that they may read. `select`: the fields of agent
 * 000 that the data need.
 */
function withManager(select: string, makeData: MakeData): RunPlan {
  return async (conversation): Promise<Answer> => {
    checkRoom(conversation, isRelease5(conversation.release) ? 1 : 2)
    const reply = await conversation.send(buildCall(conversation).call)
    const { data } = successOf(reply)
    // Release 5.0 has no agent 000.
    if (isRelease5(conversation.release)) return answerData(reply, makeData(conversation, data, undefined))
    const manager = await conversation.get('/agents', { agents_list: '000', select })
    const { content } = manager
    const isDenied = content.kind === 'problem' && content.code === REFUSED_BY_RIGHTS
    if (content.kind !== 'success' && !isDenied) return answerOf(conversation, manager)
    return answerData(reply, makeData(conversation, data, firstItem(manager)))
  }
}

/** Agent 000 is always active. */
function countsOf(counts: unknown, manager: Row | undefined): unknown {
  const count = (name: string) => Number(ownField(counts, name) ?? 0)
  const own = manager === undefined ? 0 : 1
  return {
    Total: count('total') + own,
    Active: count('active') + own,
    Disconnected: count('disconnected'),
    'Never connected': count('never_connected'),
    Pending: count('pending'),
  }
}

function overviewOf({ rows }: Conversation, data: unknown, manager: Row | undefined): unknown {
  const convert = createRowConverter(rows)
  const counted = (name: string, fields: readonly string[]) => countedWith(rowsOf(data, name), fields, manager)
  const groups = rowsOf(data, 'groups')
  const [last] = rowsOf(data, 'last_registered_agent')
  return {
    nodes: counted('nodes', ['node_name']),
    groups: { items: groups, totalItems: groups.length },
    agent_os: counted('agent_os', ['os']),
    agent_status: countsOf(ownField(ownField(data, 'agent_status'), 'connection'), manager),
    agent_version: counted('agent_version', ['version']),
    last_registered_agent: last === undefined ? {} : convert(last),
  }
}

function rowsOf(data: unknown, name: string): readonly Row[] {
  const rows = ownField(data, name)
  return Array.isArray(rows) ? (rows as Row[]) : []
}

const withoutUnknown = createRowConverter({ unknownIsMissing: { except: ['node_name'] } })

/** Adds the manager to the row with its values, or as a separate row. The total is the number of agents. */
function countedWith(rows: readonly Row[], fields: readonly string[], manager: Row | undefined): unknown {
  const own = manager && Object.fromEntries(fields.map((name) => [name, manager[name]]))
  const isOwn = (row: Row) => own !== undefined && fields.every((name) => isEqual(row[name], own[name]))
  const counted = rows.map((row) => (isOwn(row) ? { ...row, count: Number(row.count) + 1 } : row))
  const all = own !== undefined && !rows.some(isOwn) ? [{ ...own, count: 1 }, ...counted] : counted
  const totalItems = all.reduce((sum, { count }) => sum + Number(count), 0)
  return { items: all.map(withoutUnknown), totalItems }
}

/** Compares texts, and objects of texts. */
function isEqual(a: unknown, b: unknown): boolean {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a === b
  const names = new Set([...Object.keys(a), ...Object.keys(b)])
  return [...names].every((name) => ownField(a, name) === ownField(b, name))
}
