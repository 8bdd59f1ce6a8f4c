/**
 * Rows of all agents. Without a list of agents a call fails as a whole if one agent has no inventory, and the node applies
 * offset and limit to each agent. So the edge names the agents in lists, asks for the first rows of each, and joins, sorts
 * and cuts them itself: one page, or all rows. Beyond the price of a read, it stops, and names how many agents it covers.
 * Rows arrive list by list, in the order of the agents' numbers, and those of one agent in the order of the call.
 *
 * This is no joined read of several nodes: how many agents a list has, and how many lists a read may have, depends on limits
 * of this layout (its request line, its rows per call, its calls per minute). It also depends on what the edge filters.
 */

import { sortFieldsOf } from '../../../collections/order.ts'
import { createCollectionBody, frameOf } from '../../../collections/page-frame.ts'
import { parseCollectionRequest } from '../../../collections/request.ts'
import { type DatabaseSource, type Source, sources } from '../../../collections/sources.ts'
import { renameInSelect } from '../../../collections/v4-names.ts'
import type { Row } from '../../../collections/value.ts'
import { EdgeError } from '../../../core/errors.ts'
import { NO_PARTS } from '../../../core/origins.ts'
import { formatCoverage } from '../../../core/response.ts'
import { ownEntry, ownField } from '../../../core/values.ts'
import type { Answer } from '../../dialect.ts'
import { answerError, answerOf } from '../answer.ts'
import { buildCall } from '../build-call.ts'
import type { V4Call } from '../call.ts'
import { checkRoom, maxCallsOf, priceOf } from '../call-limits.ts'
import { agentsWithoutDatabase, NO_DATABASE, type Success, UNKNOWN_NODE } from '../content.ts'
import type { Conversation } from '../conversation.ts'
import { v3Error } from '../errors.ts'
import { type Reply, unreadable } from '../reply.ts'
import { createRowConverter } from '../rows.ts'
import { AgentLists, readAgentIds } from './agent-lists.ts'
import { AllRowsCollector, MAX_ROWS, PageCollector, type RowCollector } from './row-collectors.ts'

/** Throws 921 if the node has no room for all calls, 926 for rows that cannot be read within a minute, or held in memory. */
export async function allAgents(conversation: Conversation): Promise<Answer> {
  const ids = await readAgentIds(conversation)
  const { call, collector } = createRead(conversation)
  const outcome = await collect(conversation, { call, collector, ids })
  if ('translated' in outcome) return outcome
  const { reply, failedNodes, calls, asked, lost } = outcome
  const coverage = { covered: asked - lost, all: ids.length }
  const isCut = asked < ids.length
  const named = {
    ...(failedNodes.length > 0 && { failed_nodes: failedNodes }),
    ...(isCut && { covered_agents: coverage }),
  }
  const parts = {
    ...NO_PARTS,
    completeness: failedNodes.length > 0 ? 'partial' : isCut ? 'cut' : 'complete',
    ...(isCut && { clusterStatus: formatCoverage(coverage) }),
  } as const
  const origin =
    collector instanceof AllRowsCollector
      ? ({ ...parts, kind: 'allRows', fetchedParts: calls } as const)
      : ({ ...parts, kind: 'joined', isUnfinished: false } as const)
  const body = await createCollectionBody({ chunks: await collector.chunks(), total: collector.total }, frameOf(named))
  const response = { kind: 'envelope', status: 200, body, errorNumber: 0, origin } as const
  return { ok: true, ...(reply && { response: reply.response }), translated: { ok: true, response } }
}

interface Read {
  /** Without the list of agents and the limit. */
  readonly call: V4Call
  readonly collector: RowCollector
}

function createRead(conversation: Conversation): Read {
  const { request } = conversation
  const source = sourceOf(conversation)
  const { call, byEdge } = buildCall(conversation)
  const { offset: _, limit: __, select: ___, ...others } = call.query
  const parameters: Record<string, string> = others
  if (request.extent === 'allRows') {
    return { call: { ...call, query: parameters }, collector: new AllRowsCollector(Number(request.query.limit)) }
  }
  const { offset, limit, sort, select } = request.query
  if (select !== undefined && byEdge === undefined) {
    // The v4 names of the selected fields and of those that the edge sorts by.
    parameters.select = renameInSelect([select, ...sortFieldsOf(sort, source)].join(','), conversation.rows)
  }
  const page = Object.entries({ offset, limit, sort, select }).filter(([, value]) => value !== undefined)
  const evaluated = parseCollectionRequest(byEdge ?? (Object.fromEntries(page) as Record<string, string>), new Date())
  return { call: { ...call, query: parameters }, collector: new PageCollector(evaluated, source, byEdge !== undefined) }
}

function sourceOf({ request: { endpoint }, rows }: Conversation): DatabaseSource {
  const source = ownEntry<Source>(sources, rows?.source ?? '')
  if (source?.engine !== 'database') throw new Error(`the rows of ${endpoint.path} are not a database table`)
  return source
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
  /** The number of agents whose rows were asked for. */
  readonly asked: number
  /** The number of these agents whose rows the response may lack, because their node is lost. */
  readonly lost: number
}

/** A further call is sent if there is time for this many of the longest one. */
const SPARE_CALLS = 2

/** Calls the node for one list of agents after the other. Returns the answer of a call that fails. */
async function collect(
  conversation: Conversation,
  { call, collector, ids }: Read & { readonly ids: readonly string[] },
): Promise<Outcome | Answer> {
  const { node, rows: rule } = conversation
  const convert = createRowConverter(rule)
  const withAgents = (agents: readonly string[]): V4Call => ({
    ...call,
    query: { ...call.query, limit: String(collector.rowsPerAgent), agents_list: agents.join(',') },
  })
  const lineBytes = conversation.lineBytesOf(withAgents([]))
  const lists = new AgentLists(ids, collector.rowsPerAgent, lineBytes)
  const failedNodes = new Map<string, FailedNode>()
  let calls = 0
  let lost = 0
  let reply: Reply | undefined
  const isNamed = conversation.request.query.agent_id !== undefined
  const { agentsPerCollection = Number.POSITIVE_INFINITY } = conversation.tools
  const isTooLarge = ids.length > agentsPerCollection
  // One call has read the list of agents. The complete read in the background, if it is refused, reads it too.
  const price = isNamed ? Number.POSITIVE_INFINITY : priceOf(conversation) - (isTooLarge ? 2 : 1)
  if (price === Number.POSITIVE_INFINITY && !isNamed && isTooLarge)
    throw tooLarge(node, `${ids.length} agents, more than cluster.limits.agentsPerCollection`)
  // A node of many agents may need seconds for each call.
  let longest = 0
  const hasTime = () => price === Number.POSITIVE_INFINITY || conversation.remaining > SPARE_CALLS * longest
  let agents = lists.next()
  while (agents.length > 0 && calls < price && hasTime()) {
    const expected = Math.min(lists.expectedCalls, price - calls)
    if (calls + expected >= maxCallsOf(conversation)) throw tooLarge(node, `${ids.length} agents need too many calls`)
    if (calls < 2) checkRoom(conversation, 1 + expected)
    const begun = performance.now()
    reply = await conversation.sendForRows(withAgents(agents))
    longest = Math.max(longest, performance.now() - begun)
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
    if (items.some((item) => typeof item !== 'object')) throw unreadable(reply.response, 'rows are texts')
    await collector.add(items, (item) => convert(item) as Row, content.total)
    if (noteLostNodes(content, failedNodes)) lost += agents.length - agentsIn(items).size
    if (collector.isExceeded) break
    lists.noteRows(agents.length, items.length)
    agents = lists.next()
  }
  if (collector.isExceeded && collector instanceof PageCollector) throw tooLarge(node, `more than ${MAX_ROWS} rows`)
  const asked = collector.isExceeded ? ids.length : lists.at - agents.length
  return { ...(reply && { reply }), failedNodes: [...failedNodes.values()], calls, asked, lost }
}

function tooLarge(node: string, reason: string): EdgeError {
  return new EdgeError(926, ` (${node}: ${reason}; name fewer agents with agent_id, or request a smaller page)`)
}

/** The code of the v3 layout for an agent without a database. */
const NO_AGENT_DATABASE = 1600

function answerOfFailure(conversation: Conversation, reply: Reply): Promise<Answer> {
  const { content } = reply
  const isUnnamed = content.kind === 'problem' && content.code === NO_DATABASE
  return isUnnamed ? answerError(reply, v3Error(NO_AGENT_DATABASE)) : answerOf(conversation, reply)
}

/** The failed items are names of nodes whose agents have no rows here. Returns whether there are any. */
function noteLostNodes({ failed }: Success, failedNodes: Map<string, FailedNode>): boolean {
  const lost = failed.filter(({ code }) => code === UNKNOWN_NODE)
  for (const { code, message, ids } of lost) {
    for (const node of ids) failedNodes.set(node, { node, error: { code, message: v3Error(code, message).message } })
  }
  return lost.length > 0
}

function agentsIn(rows: readonly unknown[]): ReadonlySet<unknown> {
  return new Set(rows.map((row) => ownField(row, 'agent_id')))
}
