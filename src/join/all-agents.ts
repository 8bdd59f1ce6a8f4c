/**
 * Joined reads over the rows of all agents (`/experimental/…`). A node reads its first 500 agents, stops at the limit and
 * sorts afterwards, so its list is correct only if it is complete. Therefore nodes are asked for 1,000 rows without a
 * sort, whatever page the client wants, and if these are not all rows of the node, its agents are asked one by one.
 */
import type { Endpoint, ReadEndpoint } from '../catalogue/endpoint.ts'
import type { EdgeResponse } from '../core/response.ts'
import { withTimeout } from '../core/timing.ts'
import { traceAsync } from '../core/traced.ts'
import { sources } from '../query/sources.ts'
import { type AgentRowsKind, readAgentRows } from './agent-rows.ts'
import {
  agentsOf,
  createAgentFilter,
  createWalkCheck,
  type ExceedsWalk,
  type LoadedOwners,
  loadOwners,
  type OwnedAgent,
  ownersIfReady,
  reportUnreachableAgents,
} from './agents-by-node.ts'
import { checkTotal, type JoinedRead, pageWindowOf, selectWithSortFields, TooManyRowsError } from './joined-read.ts'
import {
  type ContentByNode,
  checkPageOwners,
  missingAtNewOwner,
  movedAwayFrom,
  type NodeContent,
} from './moved-agents.ts'
import { type NodeRows, nodeRowsOf, readFirstPage } from './node-pages.ts'
import { createPartError, type PartError } from './node-part.ts'
import type { AgentOwnerMap } from './owner-lookup.ts'
import { readThroughMaster } from './rows-through-master.ts'
import { createAllRowsResponse, mergeCollection } from './rules/collection.ts'

/** `ofAgent`: the endpoint for the same rows of one agent. */
export async function joinAllAgents(read: JoinedRead, ofAgent: ReadEndpoint): Promise<EdgeResponse> {
  try {
    return await joinRows(read, ofAgent)
  } catch (error) {
    if (!(error instanceof TooManyRowsError)) throw error
    // The total shows that the rows are not all rows.
    return createAllRowsResponse({ chunks: [], total: error.total }, read.report)
  }
}

async function joinRows(read: JoinedRead, ofAgent: ReadEndpoint): Promise<EdgeResponse> {
  const { request, isSnapshot, ports, report } = read
  const kind = kindOf(request.endpoint, ofAgent)
  const owners = loadOwners(read)
  // If the client leaves, no code below may await this promise. Mark the rejection as handled.
  owners.catch(() => undefined)
  const rows = await (ports.distribution() === 'edge'
    ? readNodes(read, kind, owners)
    : readThroughMaster(read, kind, owners))
  const { error } = await owners
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

/** Distribution mode `edge`: each node returns the rows of its own agents. */
async function readNodes(
  read: JoinedRead,
  kind: AgentRowsKind,
  loading: Promise<LoadedOwners>,
): Promise<readonly NodeRows[]> {
  const nodes = read.ports.view.nodes().map(({ name }) => name)
  const exceedsWalk = createWalkCheck()
  const contents: ContentByNode = new Map(
    await Promise.all(
      nodes.map(async (node) => [node, await readNode(read, kind, node, loading, exceedsWalk)] as const),
    ),
  )
  const { owners } = await loading
  if (owners === undefined) return [...contents.values()].flatMap(({ rows }) => rows)
  reportUnreachableAgents(read, owners, (node) => nodes.includes(node))
  const rows = await Promise.all(nodes.map((node) => withoutMovedAgents(read, kind, node, contents, owners)))
  const missing = await readAgentRows(read, kind, missingAtNewOwner(contents, owners))
  return [...rows.flat(), ...missing]
}

async function readNode(
  read: JoinedRead,
  kind: AgentRowsKind,
  node: string,
  loading: Promise<LoadedOwners>,
  exceedsWalk: ExceedsWalk,
): Promise<NodeContent> {
  const { request, ports } = read
  const namesAgents = request.query.agent_id !== undefined
  const early = namesAgents ? await loading : await ownersIfReady(loading)
  let departed: readonly OwnedAgent[] = []
  if (!namesAgents && !exceedsWalk(node, early?.owners)) {
    const first = await readFirstPage(read, kind.source, node)
    if ('error' in first) return failNode(read, node, first.error)
    const distributing = await findDistributionError(read, node)
    if (distributing) return failNode(read, node, distributing)
    const { page, isWhole } = first
    checkTotal(read, page.total)
    const { owners: table } = await loading
    const checked = table && (await checkPageOwners(page, node, { table, owners: ports.owners, request }))
    if (checked?.error) return failNode(read, node, checked.error)
    departed = checked?.departed ?? []
    if (isWhole && !exceedsWalk(node, table) && departed.length === 0) {
      const rows = [nodeRowsOf(node, page)]
      return checked ? { rows, ids: checked.ids, arrivedIds: checked.arrivedIds } : { rows }
    }
  }
  const { owners, error } = await loading
  if (owners === undefined) return failNode(read, node, error)
  const isRequested = createAgentFilter(request)
  const agents = agentsOf(node, owners).filter(
    ({ id }) => isRequested(id) && !departed.some((agent) => agent.id === id),
  )
  const distributing = agents.length > 0 ? await findDistributionError(read, node) : undefined
  if (distributing) return failNode(read, node, distributing)
  return { rows: await readAgentRows(read, kind, agents), departed }
}

async function findDistributionError(
  { request, ports, fanOut }: JoinedRead,
  node: string,
): Promise<PartError | undefined> {
  const asked = ports.isDistributing(node, request.caller.credentials)
  const isDistributing = await withTimeout(asked, fanOut.deadline - performance.now(), false)
  return isDistributing ? createPartError(937, ` (${node})`) : undefined
}

function failNode({ report }: JoinedRead, node: string, error: PartError): NodeContent {
  report.addError(node, error)
  return { rows: [] }
}

/** Replaces the page of a node by the rows of its remaining agents if some of its agents have moved to other nodes. */
async function withoutMovedAgents(
  read: JoinedRead,
  kind: AgentRowsKind,
  node: string,
  contents: ContentByNode,
  owners: AgentOwnerMap,
): Promise<readonly NodeRows[]> {
  const moved = movedAwayFrom(node, contents, owners)
  if (moved.length === 0) return contents.get(node)?.rows ?? []
  const isRequested = createAgentFilter(read.request)
  const remaining = agentsOf(node, owners).filter(({ id }) => isRequested(id) && !moved.includes(id))
  return readAgentRows(read, kind, remaining)
}
