/**
 * Joined reads over the rows of all agents (`/experimental/…`). A node reads its first 500 agents, stops at the limit and
 * sorts afterwards, so its list is correct only if it is complete. Therefore nodes are asked for 1,000 rows without a
 * sort, whatever page the client wants, and if these are not all rows of the node, its agents are asked one by one.
 */
import type { Endpoint, ReadEndpoint } from '../catalogue/endpoint.ts'
import type { EdgeResponse } from '../core/response.ts'
import { traceAsync } from '../core/traced.ts'
import { sources } from '../query/sources.ts'
import { type AgentRowsKind, type AgentRowsRead, readAgentRows, TIMED_OUT } from './agent-rows.ts'
import type { AllAgentsMode, CreateAllAgentsMode } from './all-agents-modes.ts'
import { checkTotal, type JoinedRead, pageWindowOf, selectWithSortFields, TooManyRowsError } from './joined-read.ts'
import { type FirstPage, type NodeRows, readFirstPage } from './node-pages.ts'
import type { PartError } from './node-part.ts'
import { type ContentByNode, type LoadedAgents, loadAgents, type NodeContent } from './read-agents.ts'
import { createAllRowsResponse, mergeCollection } from './rules/collection.ts'

/** `ofAgent`: the endpoint for the same rows of one agent. */
export async function joinAllAgents(
  read: JoinedRead,
  ofAgent: ReadEndpoint,
  createMode: CreateAllAgentsMode,
): Promise<EdgeResponse> {
  try {
    return await joinRows(read, ofAgent, createMode(read))
  } catch (error) {
    if (!(error instanceof TooManyRowsError)) throw error
    // The total shows that the rows are not all rows.
    return createAllRowsResponse({ chunks: [], total: error.total }, read.report)
  }
}

async function joinRows(read: JoinedRead, ofAgent: ReadEndpoint, mode: AllAgentsMode): Promise<EdgeResponse> {
  const { request, isSnapshot, ports, report } = read
  const kind = kindOf(request.endpoint, ofAgent)
  const loading = loadAgents(read)
  // If the client leaves, no code below may await this promise. Mark the rejection as handled.
  loading.catch(() => undefined)
  const rows = await readRows({ read, kind, loading, mode })
  const { error } = await loading
  const master = ports.view.master().name
  // Without the owners it is unknown which rows are missing.
  if (error !== undefined && report.errorsOf(master).length === 0) report.addError(master, error)
  const { drop } = selectWithSortFields(request.query, kind.source)
  const { target } = request.endpoint
  const { defaultSort, ...unsorted } = kind.source
  const options = {
    sort: request.query.sort,
    // Rows of a snapshot have the order that rows with equal sort fields have in a page.
    source: isSnapshot ? unsorted : kind.source,
    ...pageWindowOf(request),
    ...(drop && { drop }),
    inParts: isSnapshot,
    whenPartial: target.kind === 'everyNode' ? target.whenPartial : 'label',
  }
  return traceAsync(request.trace, 'merge', () => mergeCollection(rows, options, report))
}

function kindOf({ response: { rows } }: Endpoint, ofAgent: ReadEndpoint): AgentRowsKind {
  const source = rows === undefined || rows === 'nodeResponses' ? undefined : sources[rows]
  if (source?.engine !== 'database') throw new Error(`the rows of ${ofAgent.path} are not a database table`)
  return { source, endpoint: ofAgent, isSingleObject: ofAgent.response.data === 'object' }
}

interface AllAgentsRead extends AgentRowsRead {
  readonly loading: Promise<LoadedAgents>
}

/** Nodes are read independently of each other: one that hangs must not take the time of the others. */
async function readRows(all: AllAgentsRead): Promise<readonly NodeRows[]> {
  const { loading, mode } = all
  const contents: ContentByNode = new Map(
    await Promise.all(mode.nodes.map(async (node) => [node, await readNode(all, node)] as const)),
  )
  const { agents } = await loading
  if (agents === undefined) return [...contents.values()].flatMap(({ rows }) => rows)
  mode.afterNodes?.(agents)
  const rows = await Promise.all(
    [...contents].map(async ([node, content]) =>
      agents.hasRowsOfOthers(node, contents) ? readAgentRows(all, agents.of(node)) : content.rows,
    ),
  )
  return [...rows.flat(), ...(await readAgentRows(all, agents.missingIn(contents)))]
}

async function readNode(all: AllAgentsRead, node: string): Promise<NodeContent> {
  const { read, loading, mode } = all
  const fail = (error: PartError): NodeContent => {
    read.report.addError(node, error)
    return { rows: [] }
  }
  const namesAgents = read.request.query.agent_id !== undefined
  const { first, error: pageError } =
    namesAgents || (await mode.skipsPage?.(node, loading)) ? {} : await readPage(all, node)
  if (pageError && mode.survives?.(pageError) !== true) return fail(pageError)
  if (first !== undefined) {
    const { agents } = await loading
    const ids = (agents && mode.checkedOn?.(first.page)) ?? []
    const checked = await agents?.checkPage(ids, node)
    if (checked && 'code' in checked) return fail(checked)
    const rows = checked?.isOwn === false ? undefined : mode.rowsOf(first, node, agents)
    if (rows !== undefined) return { rows: [rows], ...(agents !== undefined && { ids }) }
  }
  const { agents, error } = await loading
  if (agents === undefined) return fail(pageError ?? error)
  const owned = mode.agentsOf(node, agents)
  const fault = owned.length > 0 ? await mode.findFault?.(node) : undefined
  if (fault) return fail(fault)
  mode.beforeAgents?.(agents)
  const rows = await readAgentRows(all, owned, pageError?.code === TIMED_OUT ? mode.callsAfterTimeout : undefined)
  mode.reportMissing?.(agents, rows, first)
  return { rows, ids: owned.map(({ id }) => id) }
}

async function readPage(
  { read, kind, mode }: AllAgentsRead,
  node: string,
): Promise<{ readonly first?: FirstPage; readonly error?: PartError }> {
  const first = await readFirstPage(read, kind.source, node, mode.pageDeadline)
  if (first.page === undefined) return first
  const error = await mode.findFault?.(node)
  if (error !== undefined) return { error }
  checkTotal(read, first.page.total)
  return { first }
}
