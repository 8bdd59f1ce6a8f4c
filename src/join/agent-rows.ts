/** Rows fetched agent by agent, for nodes whose own list of rows is incomplete. */

import { compileMatching } from '../collections/collect.ts'
import { sortFieldsOf } from '../collections/order.ts'
import { parseCollectionRequest } from '../collections/request.ts'
import { printRows } from '../collections/rows.ts'
import { compileProjection, flattenRow } from '../collections/select.ts'
import type { DatabaseSource } from '../collections/sources.ts'
import type { Row } from '../collections/value.ts'
import type { ReadEndpoint } from '../contracts/endpoint.ts'
import { parseBodyInTurns } from '../core/envelope.ts'
import { CALL_TIMED_OUT, OVERLOADED } from '../core/error-meanings.ts'
import type { EdgeRead } from '../core/request.ts'
import type { OwnedAgent } from './agent-index.ts'
import { checkTotal, type JoinedRead, mapWithConcurrency } from './joined-read.ts'
import {
  createPartError,
  type NodePartRequest,
  type NodeRows,
  type PartError,
  readNodeRows,
  roundUpLimit,
} from './node-part.ts'
import { MANAGER_AGENT_ID } from './owner-lookup.ts'
import { omitParameters, pageWindowOf, selectWithSortFields } from './part-queries.ts'

/** The rows of an endpoint over all agents, and how they are fetched from one. */
export interface AgentRowsKind {
  readonly source: DatabaseSource
  readonly endpoint: ReadEndpoint
  /** Whether that endpoint returns one object without paging and filters. */
  readonly isSingleObject: boolean
}

/** After this many failures the other agents of a node are skipped. */
const MAX_FAILURES_PER_NODE = 3
/** The agent was removed after the list of agents was read. */
const AGENT_REMOVED = 1701

export interface AgentRowsRead {
  readonly read: JoinedRead
  readonly kind: AgentRowsKind
}

/** How agents are asked one by one: how many nodes at once, and how many agents of each. */
export interface AgentCalls {
  readonly nodes: number
  readonly perNode: number
  extentOf(agent: OwnedAgent): EdgeRead['extent']
}

/** Fetches the rows of these agents. Failures are recorded in the report under the node of the agent, and counted. */
export async function readAgentRows(
  all: AgentRowsRead,
  agents: readonly OwnedAgent[],
  calls: AgentCalls,
): Promise<{ readonly rows: readonly NodeRows[]; readonly failed: number }> {
  const { read, kind } = all
  const { report } = read
  const failures = new Map<string, number>()
  const failuresOf = (node: string) => failures.get(node) ?? 0
  let total = 0
  const fetchRows = async (agent: OwnedAgent) => {
    const { node } = agent
    // Also stops the other calls of this read.
    checkTotal(read, total)
    if (failuresOf(node) >= MAX_FAILURES_PER_NODE) return undefined
    const result = timeoutError(read) ?? (await fetchAgent(all, agent, calls.extentOf(agent)))
    failures.set(node, failuresOf(node) + failureWeight(result))
    if (isNodeRows(result)) total += result.total
    return result
  }
  const results = await fetchByNode(agents, calls, fetchRows)
  let failed = 0
  for (const [{ node }, result] of results) {
    if (isError(result, AGENT_REMOVED)) continue
    if (result === undefined || isError(result)) failed += 1
    if (isError(result)) report.addError(node, result)
  }
  const received = agents.map((agent) => results.get(agent)).filter((result) => result !== undefined)
  const rows = kind.isSingleObject
    ? await collectSingleRows(read, kind, received.filter(isSingleRow))
    : received.filter(isNodeRows)
  return { rows, failed }
}

/** A call that times out blocks others for as long, so it skips the rest of the node. */
function failureWeight(result: FetchResult): number {
  if (!isError(result) || result.code === AGENT_REMOVED || result.code === OVERLOADED) return 0
  return result.code === CALL_TIMED_OUT ? MAX_FAILURES_PER_NODE : 1
}

/** Returns the result for each agent. Calls that the limiter rejected are repeated at the end. */
async function fetchByNode(
  agents: readonly OwnedAgent[],
  calls: AgentCalls,
  fetchRows: (agent: OwnedAgent) => Promise<FetchResult | undefined>,
): Promise<ReadonlyMap<OwnedAgent, FetchResult | undefined>> {
  const results = new Map<OwnedAgent, FetchResult | undefined>()
  const fetchAll = (some: readonly OwnedAgent[], atOnce: number) =>
    mapWithConcurrency(some, atOnce, async (agent) => results.set(agent, await fetchRows(agent)))
  const nodes = [...new Set(agents.map(({ node }) => node))]
  const byNode = nodes.map((name) => agents.filter(({ node }) => node === name))
  await mapWithConcurrency(byNode, calls.nodes, (some) => fetchAll(some, calls.perNode))
  const rejected = agents.filter((agent) => isError(results.get(agent), OVERLOADED))
  await fetchAll(rejected, 1)
  return results
}

/** Calls after the deadline would fail one by one. */
function timeoutError({ fanOut }: JoinedRead): PartError | undefined {
  if (performance.now() < fanOut.deadline) return undefined
  return createPartError(CALL_TIMED_OUT, ' (no time was left for all of its agents)')
}

/** The object of an agent; `row` is undefined if the agent has not sent it yet. */
interface SingleRow extends OwnedAgent {
  readonly row: Row | undefined
}

type FetchResult = NodeRows | SingleRow | PartError

function isError(result: FetchResult | undefined, code?: number): result is PartError {
  return result !== undefined && 'code' in result && (code === undefined || result.code === code)
}

function isNodeRows(result: FetchResult): result is NodeRows {
  return 'rows' in result
}

function isSingleRow(result: FetchResult): result is SingleRow {
  return 'row' in result
}

async function fetchAgent(
  { read: { request, fetchPart, fanOut }, kind }: AgentRowsRead,
  { id, node }: OwnedAgent,
  extent: EdgeRead['extent'],
): Promise<FetchResult> {
  const part: NodePartRequest = { endpoint: kind.endpoint, params: { agent_id: id }, query: {}, extent }
  // A call that hangs must leave time for the agents behind it.
  const deadline = Math.min(fanOut.deadline, performance.now() + (fanOut.deadline - fanOut.startedAt) / 4)
  if (kind.isSingleObject) {
    const received = await fetchPart(node, part, deadline)
    return received.ok ? { id, node, row: await parseSingleRow(received.response.body) } : received.error
  }
  const { offset, limit } = pageWindowOf(request)
  // Over several fields nodes sort differently from call to call.
  const isSorted = sortFieldsOf(request.query.sort, kind.source).length < 2
  const { select } = selectWithSortFields(request.query, kind.source)
  const query = omitParameters(request.query, 'offset', 'limit', 'agent_id', 'select', ...(isSorted ? [] : ['sort']))
  const result = await readNodeRows({
    node,
    part: { ...part, query: { ...query, ...(select !== undefined && { select }) } },
    limit: roundUpLimit(offset + limit),
    isSorted,
    inject: {
      ...(id === MANAGER_AGENT_ID && { first: { name: 'node_name', value: node } }),
      last: { name: 'agent_id', value: id },
    },
    fetchPart: (name, page) => fetchPart(name, page, deadline),
  })
  return result.ok ? result.rows : result.error
}

/** An agent that has not sent its data yet has an empty object. */
async function parseSingleRow(bytes: Buffer): Promise<Row | undefined> {
  const { data } = await parseBodyInTurns(bytes)
  if (typeof data !== 'object' || data === null || Object.keys(data).length === 0) return undefined
  return flattenRow(data as Row)
}

/** Filters, search and select apply here, because the endpoint for one agent has none. Returns the rows per node. */
async function collectSingleRows(
  { request }: JoinedRead,
  { source }: AgentRowsKind,
  found: readonly SingleRow[],
): Promise<readonly NodeRows[]> {
  const nodes = [...new Set(found.map(({ node }) => node))]
  const parameters = omitParameters(request.query, 'offset', 'limit', 'sort', 'select', 'agent_id')
  const filters = parseCollectionRequest(parameters, new Date())
  const { pick, compare } = compileMatching(filters, source, [], ({ row = {} }: SingleRow) => row)
  const project = compileProjection(selectWithSortFields(request.query, source).select, source)
  const rowsOf = async (node: string): Promise<NodeRows> => {
    const matches = found.flatMap((one) => (one.node === node && one.row !== undefined ? (pick(one) ?? []) : []))
    const items = matches.sort(compare).map(({ item: { id, row = {} } }) => withAgentId(project(row) as Row, id, node))
    return { node, total: items.length, rows: await printRows(items), isSorted: false }
  }
  return Promise.all(nodes.map(rowsOf))
}

function withAgentId(row: Row, id: string, node: string): Row {
  return { ...(id === MANAGER_AGENT_ID && { node_name: node }), ...row, agent_id: id }
}
