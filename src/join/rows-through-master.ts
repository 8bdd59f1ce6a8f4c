/** The rows of all agents in distribution mode `manager`: from the master's page, or agent by agent through the master. */
import { type AgentRowsKind, readAgentRows } from './agent-rows.ts'
import {
  agentsInOrder,
  createAgentFilter,
  type LoadedOwners,
  MAX_WALKED_AGENTS,
  reportUnreachableAgents,
} from './agents-by-node.ts'
import { checkTotal, type JoinedRead } from './joined-read.ts'
import { type FirstPage, isWholeCluster, type NodeRows, readFirstPage } from './node-pages.ts'
import { createPartError } from './node-part.ts'
import { type AgentOwnerMap, MANAGER_AGENT_ID } from './owner-lookup.ts'

/** Codes with which the cluster fails as a whole because of one node; other nodes may respond for their agents. */
const WHOLE_CLUSTER_ERRORS: ReadonlySet<number> = new Set([
  922, 1000, 1017, 3000, 3009, 3016, 3018, 3020, 3021, 3022, 3023,
])
/** A node hangs: concurrent calls to it would take the time of calls to others. */
const TIMED_OUT = 922
/** The share of the time that the page of the master may take; the rest is for single agents. */
const MASTER_PAGE_SHARE = 0.5

/**
 * Distribution mode `manager`: the cluster joins by itself, but correctly on its first page only. The page of the master
 * is used if it is complete. If it is not, or if the cluster fails as a whole, agents are asked one by one.
 */
export async function readThroughMaster(
  read: JoinedRead,
  kind: AgentRowsKind,
  loading: Promise<LoadedOwners>,
): Promise<readonly NodeRows[]> {
  const { request, report, ports, fanOut } = read
  const master = ports.view.master().name
  const deadline = fanOut.deadlineAt(MASTER_PAGE_SHARE)
  const namesAgents = request.query.agent_id !== undefined
  const first = namesAgents ? undefined : await readFirstPage(read, kind.source, master, deadline)
  const pageError = first && 'error' in first ? first.error : undefined
  if (pageError && !WHOLE_CLUSTER_ERRORS.has(pageError.code)) {
    report.addError(master, pageError)
    return []
  }
  if (first && 'page' in first) checkTotal(read, first.page.total)
  const { owners, error } = await loading
  const walkIsComplete = (owners?.size ?? 0) <= MAX_WALKED_AGENTS
  if (walkIsComplete && first && isWholeCluster(first, request)) {
    const { page, count } = first
    // Only the manager could tell which rows of agent `000` are of which node, so no node name is added.
    return [{ node: master, total: count, toMergeInput: () => ({ rows: page, total: count, isSorted: false }) }]
  }
  if (owners === undefined) {
    report.addError(master, pageError ?? error)
    return []
  }
  reportUnreachableAgents(read, owners, () => true)
  const isRequested = createAgentFilter(request)
  const agents = agentsInOrder(owners, master).filter(({ id }) => isRequested(id))
  const rows = await readAgentRows(read, kind, agents, pageError?.code === TIMED_OUT ? 1 : undefined)
  if (isRequested(MANAGER_AGENT_ID)) reportRowsOfWorkers(read, owners, rows, first)
  return rows
}

/**
 * Reports the workers whose own rows are missing: agent `000` of a worker is the worker itself, but through the master
 * that id has the rows of the master only. The total of the master's page can show that the workers have none.
 */
function reportRowsOfWorkers(
  { ports, report }: JoinedRead,
  owners: AgentOwnerMap,
  rows: readonly NodeRows[],
  first: FirstPage | undefined,
): void {
  const master = ports.view.master().name
  const totalOf = (some: readonly NodeRows[]) => some.reduce((sum, { total }) => sum + total, 0)
  // If the node of some agent is unknown, the manager asks itself twice.
  const isMasterCountedTwice = [...owners.values()].some(({ kind }) => kind !== 'node')
  const ofMaster = isMasterCountedTwice ? totalOf(rows.filter(({ node }) => node === master)) : 0
  if (first && 'page' in first && first.page.total === totalOf(rows) + ofMaster) return
  const known = ports.view.nodes().map(({ name }) => name)
  const ofAgents = [...owners.values()].flatMap((owner) => (owner.kind === 'node' ? [owner.node] : []))
  for (const node of new Set([...known, ...ofAgents])) {
    if (node !== master && report.errorsOf(node).length === 0) report.addError(node, createPartError(935, ''))
  }
}
