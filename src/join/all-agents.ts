/**
 * Joined reads over the rows of all agents (`/experimental/…`). A node reads its first 500 agents, stops at the limit and
 * sorts afterwards, so its list is correct only if it is complete. Therefore nodes are asked for 1,000 rows without a
 * sort, whatever page the client wants, and if these are not all rows of the node, its agents are asked one by one, as
 * far as the price of the read allows. Beyond it, the response says how many agents it covers.
 */

import { agentIdsOf, rowsOfAgents } from '../collections/agent-ids.ts'
import { MAX_LIMIT } from '../collections/request.ts'
import type { Rows } from '../collections/rows.ts'
import { sources } from '../collections/sources.ts'
import type { Endpoint, ReadEndpoint } from '../contracts/endpoint.ts'
import { CALL_TIMED_OUT } from '../core/envelope.ts'
import { priceOfRead } from '../core/request.ts'
import type { EdgeResponse } from '../core/response.ts'
import { withTimeout } from '../core/timing.ts'
import { traceAsync } from '../core/traced.ts'
import { waitForJsonTurn } from '../core/turns.ts'
import type { OwnedAgent } from './agent-index.ts'
import { type AgentCalls, type AgentRowsKind, type AgentRowsRead, readAgentRows } from './agent-rows.ts'
import { coveredBy, type FirstPage, isWholeCluster, readFirstPage } from './first-page.ts'
import { checkTotal, type JoinedRead, pageWindowOf, selectWithSortFields, TooManyRowsError } from './joined-read.ts'
import { createPartError, type NodeRows, type PartError } from './node-part.ts'
import { MANAGER_AGENT_ID } from './owner-lookup.ts'
import { type ContentByNode, type LoadedAgents, loadAgents, type NodeContent, type ReadAgents } from './read-agents.ts'
import { createAllRowsResponse, mergeCollection } from './rules/collection.ts'

interface AllAgentsRead extends AgentRowsRead {
  /** The owner table, which is read while the nodes are asked for their pages. */
  readonly loading: Promise<LoadedAgents>
}

/** Reads the rows of all agents as a distribution mode needs it. Failures are recorded in the report. */
export type ReadAllAgents = (all: AllAgentsRead) => Promise<readonly NodeRows[]>

/** `ofAgent`: the endpoint for the same rows of one agent. */
export async function joinAllAgents(
  read: JoinedRead,
  ofAgent: ReadEndpoint,
  readRows: ReadAllAgents,
): Promise<EdgeResponse> {
  const { request, isSnapshot, ports, report } = read
  const kind = kindOf(request.endpoint, ofAgent)
  const loading = loadAgents(read)
  // If the client leaves, no code below may await this promise. Mark the rejection as handled.
  loading.catch(() => undefined)
  try {
    const rows = await readRows({ read, kind, loading })
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
    return await traceAsync(request.trace, 'merge', () => mergeCollection(rows, options, report))
  } catch (error) {
    if (!(error instanceof TooManyRowsError)) throw error
    // The total shows that the rows are not all rows.
    return createAllRowsResponse({ chunks: [], total: error.total }, report)
  }
}

function kindOf({ response: { rows } }: Endpoint, ofAgent: ReadEndpoint): AgentRowsKind {
  const source = rows === undefined || rows === 'nodeResponses' ? undefined : sources[rows]
  if (source?.engine !== 'database') throw new Error(`the rows of ${ofAgent.path} are not a database table`)
  return { source, endpoint: ofAgent, isSingleObject: ofAgent.response.data === 'object' }
}

/** Rows of named agents are read from these agents only. */
function namesAgents({ request }: JoinedRead): boolean {
  return request.query.agent_id !== undefined
}

/** Agent `000` of each node is the node itself. */
function isNoNode(id: string): boolean {
  return id !== MANAGER_AGENT_ID
}

interface Price {
  /** How many agents may be asked one by one. */
  readonly agents: number
  readonly node: string
  /** The page of the node, if its rows are right as far as they go. */
  readonly first: FirstPage | undefined
  /** Otherwise the page has rows of agent `000` of several nodes, without their names. */
  readonly isOfOneNode: boolean
}

const NO_AGENTS: ReadonlySet<string> = new Set()

/**
 * Asks agents one by one, or as many of them as the price of the read allows beside those that the page of the node covers.
 * A complete read, for which no client waits, asks all of them. Throws TooManyRowsError if the cluster has more agents than
 * such a read may have.
 */
async function readSome(
  all: AllAgentsRead,
  known: ReadAgents,
  agents: readonly OwnedAgent[],
  calls: AgentCalls,
  { agents: room, node, first, isOfOneNode }: Price,
): Promise<NodeContent> {
  const { read } = all
  const { request, report, ports, isComplete } = read
  if (isComplete && known.size > ports.limits().agentsPerCollection)
    throw new TooManyRowsError(pageWindowOf(request).limit + 1)
  if (isComplete || namesAgents(read) || agents.length <= room)
    return { rows: await readAgentRows(all, agents, calls), ids: agents.map(({ id }) => id).filter(isNoNode) }
  await waitForJsonTurn(first?.page.bytes.length ?? 0)
  const covered = first === undefined ? NO_AGENTS : coveredBy(first, known, request, isOfOneNode ? node : undefined)
  const asked: OwnedAgent[] = []
  for (let at = 0; at < agents.length && asked.length < room; at += 1) {
    const agent = agents[at]
    if (agent !== undefined && !covered.has(agent.id)) asked.push(agent)
  }
  report.setCoverage(node, { covered: covered.size + asked.length, all: agents.length })
  const rowsOf = isOfOneNode ? nodeRowsOf : clusterRowsOf
  const ofPage =
    first === undefined || covered.size === 0 ? [] : [rowsOf(node, await rowsOfAgents(first.page, covered))]
  const askedRows = await readAgentRows(all, asked, calls)
  return { rows: [...ofPage, ...askedRows], ids: [...covered, ...asked.map(({ id }) => id)].filter(isNoNode) }
}

/** The calls with which the owner table is read. */
function ownerCalls(agents: ReadAgents): number {
  return Math.ceil(agents.size / MAX_LIMIT)
}

/**
 * Concurrent calls for agents to each node in mode `edge`, and to the master in mode `manager`. A node takes four by
 * default; half of them stay free for other requests.
 */
const CONCURRENT_CALLS = 2

const CALLS_TO_OWNERS: AgentCalls = {
  nodes: Number.POSITIVE_INFINITY,
  perNode: CONCURRENT_CALLS,
  extentOf: ({ id, node }) => (id === MANAGER_AGENT_ID ? { node } : 'whole'),
}

/**
 * Mode `edge`: each node returns the rows of its own agents. Nodes are read independently of each other: one that hangs
 * must not take the time of the others.
 */
export const readFromOwners: ReadAllAgents = async (all) => {
  const { read, loading } = all
  const nodes = read.ports.view.nodes().map(({ name }) => name)
  const readOrReport = async (node: string): Promise<readonly [string, NodeContent]> => {
    const content = await readNode(all, node)
    if (!('code' in content)) return [node, content]
    read.report.addError(node, content)
    return [node, { rows: [] }]
  }
  const contents: ContentByNode = new Map(await Promise.all(nodes.map(readOrReport)))
  const { agents } = await loading
  if (agents === undefined) return [...contents.values()].flatMap(({ rows }) => rows)
  agents.reportUnreachable((node) => nodes.includes(node))
  const rows = await Promise.all(
    [...contents].map(async ([node, content]) =>
      agents.hasRowsOfOthers(node, contents) ? (await readOwned(all, agents, node)).rows : content.rows,
    ),
  )
  return [...rows.flat(), ...(await readAgentRows(all, agents.missingIn(contents), CALLS_TO_OWNERS))]
}

async function readNode(all: AllAgentsRead, node: string): Promise<NodeContent | PartError> {
  const { read, loading } = all
  // The page has the rows of many agents, which a complete read asks one by one.
  const isUseless = read.isComplete && (await ifReady(loading))?.agents?.exceedsList(node) === true
  const isSkipped = namesAgents(read) || isUseless
  const content = isSkipped ? undefined : await readPage(all, node)
  if (content !== undefined && !('count' in content)) return content
  const { agents, error } = await loading
  if (agents === undefined) return error
  const fault = isSkipped && agents.of(node).length > 0 ? await findFault(read, node) : undefined
  return fault ?? readOwned(all, agents, node, content)
}

/** Its page, and the question whether the node distributes. */
const CALLS_OF_PAGE = 2
/** Of an agent without rows, the master is asked for the owner. */
const CALLS_OF_AGENT = 2

/** Reads the rows of the agents of a node. */
function readOwned(all: AllAgentsRead, agents: ReadAgents, node: string, first?: FirstPage): Promise<NodeContent> {
  const nodes = all.read.ports.view.nodes().length
  const left = priceOfRead(nodes) - CALLS_OF_PAGE * nodes - ownerCalls(agents)
  const room = Math.floor(left / (CALLS_OF_AGENT * nodes))
  return readSome(all, agents, agents.of(node), CALLS_TO_OWNERS, { agents: room, node, first, isOfOneNode: true })
}

/** Returns the page itself if it has not all rows of the agents of the node; undefined if it has rows of other agents. */
async function readPage(
  { read, kind, loading }: AllAgentsRead,
  node: string,
): Promise<NodeContent | FirstPage | PartError | undefined> {
  const first = await readFirstPage(read, kind.source, node)
  const { page, isWhole, error } = first
  if (page === undefined) return error
  const fault = await findFault(read, node)
  if (fault !== undefined) return fault
  checkTotal(read, page.total)
  const { agents } = await loading
  await waitForJsonTurn(page.bytes.length)
  if (agents === undefined) return isWhole ? { rows: [nodeRowsOf(node, page)] } : undefined
  const ids = agentIdsOf(page).filter(isNoNode)
  const checked = await agents.checkPage(ids, node)
  if ('code' in checked) return checked
  if (!checked.isOwn) return undefined
  if (!isWhole || agents.exceedsList(node)) return first
  return { rows: [nodeRowsOf(node, page)], ids }
}

/** Resolves to undefined if the owners are not available without waiting for I/O. */
function ifReady(loading: Promise<LoadedAgents>): Promise<LoadedAgents | undefined> {
  const later = new Promise<undefined>((resolve) => {
    setImmediate(resolve, undefined)
  })
  return Promise.race([loading, later])
}

/** Returns the error of a node whose rows are not its own only, because it distributes requests itself. */
async function findFault({ request, ports, fanOut }: JoinedRead, node: string): Promise<PartError | undefined> {
  const asked = ports.isDistributing(node, request.caller.credentials)
  const isDistributing = await withTimeout(asked, fanOut.deadline - performance.now(), false)
  return isDistributing ? createPartError(937, ` (${node})`) : undefined
}

/** Agent `000` of each node is the node itself, so its rows get the name of the node. */
function nodeRowsOf(node: string, page: Rows): NodeRows {
  const inject = { first: { node_name: node }, where: { field: 'agent_id', is: MANAGER_AGENT_ID } }
  return { node, total: page.total, rows: page, isSorted: false, inject }
}

/** Only the manager could tell which rows of agent `000` are of which node, so they get no name of a node. */
function clusterRowsOf(node: string, page: Rows): NodeRows {
  return { node, total: page.total, rows: page, isSorted: false }
}

/** Codes with which the cluster fails as a whole because of one node; other nodes may respond for their agents. */
const WHOLE_CLUSTER_ERRORS: ReadonlySet<number> = new Set([
  922, 1000, 1017, 3000, 3009, 3016, 3018, 3020, 3021, 3022, 3023,
])
/** The share of the time that the page of the master may take; the rest is for single agents. */
const MASTER_PAGE_SHARE = 0.5

/** The master passes calls to a node one by one: a second one for a node that hangs would take the place of others. */
const CALLS_TO_MASTER: AgentCalls = { nodes: CONCURRENT_CALLS, perNode: 1, extentOf: () => 'whole' }
/** A node hangs: concurrent calls to it would take the time of calls to others. */
const CALLS_AFTER_TIMEOUT: AgentCalls = { ...CALLS_TO_MASTER, nodes: 1 }

/**
 * Mode `manager`: the cluster joins by itself, but correctly on its first page only. The page of the master is used if it
 * is complete. If it is not, or if the cluster fails as a whole, agents are asked one by one.
 */
export const readThroughMaster: ReadAllAgents = async (all) => {
  const { read, kind, loading } = all
  const { request, report, fanOut } = read
  const node = read.ports.view.master().name
  const first = namesAgents(read)
    ? undefined
    : await readFirstPage(read, kind.source, node, fanOut.deadlineAt(MASTER_PAGE_SHARE))
  const pageError = first?.error
  const fail = (error: PartError) => {
    report.addError(node, error)
    return []
  }
  if (pageError !== undefined && !WHOLE_CLUSTER_ERRORS.has(pageError.code)) return fail(pageError)
  if (first?.page !== undefined) checkTotal(read, first.page.total)
  const { agents, error } = await loading
  if (first?.page !== undefined && !agents?.exceedsList() && isWholeCluster(first, request)) {
    return [{ ...clusterRowsOf(node, first.page), total: first.count }]
  }
  if (agents === undefined) return fail(pageError ?? error)
  // The manager passes calls on to all nodes, whether the edge has addresses of them or not.
  agents.reportUnreachable(() => true)
  const calls = pageError?.code === CALL_TIMED_OUT ? CALLS_AFTER_TIMEOUT : CALLS_TO_MASTER
  const room = priceOfRead(read.ports.view.nodes().length) - 1 - ownerCalls(agents)
  const { rows } = await readSome(all, agents, agents.inOrder(node), calls, {
    agents: room,
    node,
    first: first?.page === undefined ? undefined : first,
    isOfOneNode: false,
  })
  if (agents.isRequested(MANAGER_AGENT_ID)) reportRowsOfWorkers(read, agents, rows, first?.page)
  return rows
}

/**
 * Reports the workers whose own rows are missing: agent `000` of a worker is the worker itself, but through the master
 * that id has the rows of the master only. The total of the master's page can show that the workers have none.
 */
function reportRowsOfWorkers(
  { ports, report }: JoinedRead,
  agents: ReadAgents,
  rows: readonly NodeRows[],
  page: FirstPage['page'] | undefined,
): void {
  const master = ports.view.master().name
  const totalOf = (some: readonly NodeRows[]) => some.reduce((sum, { total }) => sum + total, 0)
  const { nodes, hasUnknown } = agents.owners()
  // If the node of some agent is unknown, the manager asks itself twice.
  const ofMaster = hasUnknown ? totalOf(rows.filter(({ node }) => node === master)) : 0
  if (page?.total === totalOf(rows) + ofMaster) return
  for (const node of new Set([...ports.view.nodes().map(({ name }) => name), ...nodes])) {
    if (node !== master && report.errorsOf(node).length === 0) report.addError(node, createPartError(935, ''))
  }
}
