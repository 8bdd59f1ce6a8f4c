/**
 * Rows of all agents. Without a list of agents a call fails as a whole if one agent has no inventory, and the node applies
 * offset and limit to each agent. So the edge names the agents in lists, asks for the first rows of each, and joins, sorts
 * and cuts them itself.
 */
import { envelopeOf } from '../../../../core/envelope.ts'
import { EdgeError } from '../../../../core/errors.ts'
import { NO_PARTS } from '../../../../core/response.ts'
import { sortFieldsOf } from '../../../../query/order.ts'
import { parseCollectionRequest } from '../../../../query/request.ts'
import { type DatabaseSource, type Source, sources } from '../../../../query/sources.ts'
import type { Row } from '../../../../query/value.ts'
import type { Answer } from '../../dialect.ts'
import { answerError, answerOf } from '../answer.ts'
import { ALL_ROWS, buildCall, withTies } from '../build-call.ts'
import type { Content, Success } from '../content.ts'
import { type Conversation, type NewerCall, type Reply, UnreadableReplyError } from '../conversation.ts'
import { classicError } from '../errors.ts'
import { renameInSelect } from '../field-names.ts'
import { createRowConverter } from '../rows.ts'
import { AgentLists, AllRowsCollector, MAX_ROWS, PageCollector, type RowCollector } from './agent-rows.ts'

/** Throws 921 if the node has no room for all calls, 926 for rows that cannot be read within a minute, or held in memory. */
export async function allAgents(conversation: Conversation): Promise<Answer> {
  const listed = await readAgentIds(conversation)
  if (!Array.isArray(listed)) return listed
  const { call, collector } = createRead(conversation)
  const outcome = await collect(conversation, { call, collector, ids: listed })
  if ('translated' in outcome) return outcome
  const { reply, failedNodes, calls } = outcome
  const named = failedNodes.length > 0 ? { failed_nodes: failedNodes } : {}
  const items = collector instanceof PageCollector ? collector.page() : []
  const parts = { ...NO_PARTS, completeness: failedNodes.length > 0 ? 'partial' : 'complete' } as const
  const origin =
    collector instanceof AllRowsCollector
      ? ({ ...parts, kind: 'allRows', rowParts: collector.parts, fetchedParts: calls } as const)
      : ({ ...parts, kind: 'joined', isUnfinished: false } as const)
  const response = envelopeOf({ error: 0, data: { items, totalItems: collector.total, ...named } }, origin)
  return { ok: true, ...(reply && { response: reply.response }), translated: { ok: true, response } }
}

/** Returns the ids that the request names, or those of all agents that may have an inventory, by number. */
async function readAgentIds(conversation: Conversation): Promise<string[] | Answer> {
  const { query, waitForComplete } = conversation.request
  if (query.agent_id !== undefined) return byNumber(query.agent_id.split(','))
  const reply = await conversation.sendForRows({
    method: 'GET',
    path: '/agents',
    query: {
      select: 'id',
      status: 'active,disconnected',
      limit: ALL_ROWS,
      ...(waitForComplete && { wait_for_complete: 'true' }),
    },
  })
  if (reply.content.kind !== 'success') return answerOf(conversation, reply)
  return byNumber((reply.content.items ?? []).map((row) => String((row as Row).id)))
}

function byNumber(ids: readonly string[]): string[] {
  return [...new Set(ids)].sort((a, b) => Number(a) - Number(b))
}

interface Read {
  /** Without the list of agents and the limit. */
  readonly call: NewerCall
  readonly collector: RowCollector
}

function createRead(conversation: Conversation): Read {
  const { request, translation } = conversation
  const source = sourceOf(conversation)
  const { call, byEdge } = buildCall(conversation)
  const { offset: _, limit: __, select: ___, ...others } = call.query
  const parameters: Record<string, string> = others
  const { order } = translation.call
  if (parameters.sort === undefined && order !== undefined) parameters.sort = withTies(undefined, order)
  if (request.extent === 'allRows') {
    return { call: { ...call, query: parameters }, collector: new AllRowsCollector(Number(request.query.limit)) }
  }
  const { offset, limit, sort, select } = request.query
  if (select !== undefined && byEdge === undefined) parameters.select = selectWithSort(conversation, select, source)
  const page = Object.entries({ offset, limit, sort, select }).filter(([, value]) => value !== undefined)
  const evaluated = parseCollectionRequest(byEdge ?? (Object.fromEntries(page) as Record<string, string>), new Date())
  return { call: { ...call, query: parameters }, collector: new PageCollector(evaluated, source, byEdge !== undefined) }
}

function sourceOf({ request: { endpoint }, translation: { response } }: Conversation): DatabaseSource {
  const name = 'rows' in response ? response.rows?.source : undefined
  const source: Source | undefined = name === undefined ? undefined : (sources as Record<string, Source>)[name]
  if (source?.engine !== 'database') throw new Error(`the rows of ${endpoint.path} are not a database table`)
  return source
}

/** Returns the newer names of the selected fields and of those that the edge sorts by. */
function selectWithSort({ request, translation }: Conversation, select: string, source: DatabaseSource): string {
  const { response } = translation
  return renameInSelect(
    [select, ...sortFieldsOf(request.query.sort, source)].join(','),
    'rows' in response ? response.rows : undefined,
  )
}

/** A member of `failed_nodes`. */
interface FailedNode {
  readonly node: string
  readonly error: { readonly code: number; readonly message: string }
}

interface Outcome {
  /** The last one; absent if there are no agents. */
  readonly reply?: Reply
  readonly failedNodes: readonly FailedNode[]
  readonly calls: number
}

/** Calls the node for one list of agents after the other. Returns the answer of a call that fails. */
async function collect(
  conversation: Conversation,
  { call, collector, ids }: Read & { readonly ids: readonly string[] },
): Promise<Outcome | Answer> {
  const { node, translation } = conversation
  const convert = createRowConverter('rows' in translation.response ? translation.response.rows : undefined)
  const withAgents = (agents: readonly string[]): NewerCall => ({
    ...call,
    query: { ...call.query, limit: String(collector.rowsPerAgent), agents_list: agents.join(',') },
  })
  const lineBytes = conversation.lineBytesOf(withAgents([]))
  const lists = new AgentLists({ ids, rowsPerAgent: collector.rowsPerAgent, lineBytes })
  const failedNodes = new Map<string, FailedNode>()
  let calls = 0
  let reply: Reply | undefined
  for (let agents = lists.next(); agents.length > 0; ) {
    if (calls + lists.expectedCalls >= conversation.maxCalls)
      throw tooLarge(node, `${ids.length} agents need too many calls`)
    if (calls < 2) conversation.checkRoom(1 + lists.expectedCalls)
    reply = await conversation.sendForRows(withAgents(agents))
    calls += 1
    const { content } = reply
    if (content.kind !== 'success') {
      const missing = agentsWithoutDatabase(content)
      const others = agents.filter((id) => !missing.has(id))
      if (others.length === agents.length) return answerOfFailure(conversation, reply)
      agents = others.length > 0 ? others : lists.next()
      continue
    }
    const { items = [] } = content
    if (items.some((item) => typeof item !== 'object')) throw new UnreadableReplyError(reply.response, 'rows are texts')
    const rows = items.map((row) => convert(row) as Row)
    await collector.add(rows, content.total)
    noteLostNodes(content, failedNodes)
    if (collector.isExceeded) break
    lists.noteRows(agents.length, rows.length)
    agents = lists.next()
  }
  if (collector.isExceeded && collector instanceof PageCollector) throw tooLarge(node, `more than ${MAX_ROWS} rows`)
  return { ...(reply && { reply }), failedNodes: [...failedNodes.values()], calls }
}

function tooLarge(node: string, reason: string): EdgeError {
  return new EdgeError(926, ` (${node}: ${reason}; name fewer agents with agent_id, or request a smaller page)`)
}

const NO_DATABASE = 2007
const NAMED_AGENT = /There is no database for agent (\d+)/g

/** Each node of the cluster names the first of its agents that has no database. */
function agentsWithoutDatabase(content: Content): ReadonlySet<string> {
  if (content.kind !== 'problem' || content.code !== NO_DATABASE) return new Set()
  const texts = [content.detail, ...content.nodeDetails]
  return new Set(texts.flatMap((text) => [...text.matchAll(NAMED_AGENT)].map(([, id = '']) => id)))
}

/** The code of the classic layout for an agent without a database. */
const NO_AGENT_DATABASE = 1600

function answerOfFailure(conversation: Conversation, reply: Reply): Answer {
  const { content } = reply
  const isUnnamed = content.kind === 'problem' && content.code === NO_DATABASE
  return isUnnamed ? answerError(reply, classicError(NO_AGENT_DATABASE)) : answerOf(conversation, reply)
}

const UNKNOWN_NODE = 3022

/** The failed items are names of nodes whose agents have no rows here. */
function noteLostNodes({ failed }: Success, failedNodes: Map<string, FailedNode>): void {
  for (const { code, message, ids } of failed) {
    if (code !== UNKNOWN_NODE) continue
    for (const node of ids)
      failedNodes.set(node, { node, error: { code, message: classicError(code, message).message } })
  }
}
