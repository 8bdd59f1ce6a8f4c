/** The rows of all agents in distribution mode `manager`: the master joins them, but correctly on its first page only. */

import { CALL_TIMED_OUT } from '../core/error-meanings.ts'
import { priceOfRead } from '../core/request.ts'
import type { AgentCalls } from './agent-rows.ts'
import {
  CONCURRENT_CALLS,
  namesAgents,
  ownerCalls,
  type ReadAllAgents,
  readSome,
  reportCoverage,
  rowsOfPage,
} from './all-agents.ts'
import { type FirstPage, isWholeCluster, readFirstPage } from './first-page.ts'
import { checkTotal, type JoinedRead } from './joined-read.ts'
import { createPartError, type NodeRows, type PartError } from './node-part.ts'
import { MANAGER_AGENT_ID } from './owner-lookup.ts'
import type { ReadAgents } from './read-agents.ts'

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
 * The page of the master is used if it is complete. If it is not, or if the cluster fails as a whole, agents are asked one by
 * one.
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
    return [{ ...rowsOfPage(node, first.page, false), total: first.count }]
  }
  if (agents === undefined) return fail(pageError ?? error)
  // The manager passes calls on to all nodes, whether the edge has addresses of them or not.
  const unreachable = agents.reportUnreachable(() => true)
  const calls = pageError?.code === CALL_TIMED_OUT ? CALLS_AFTER_TIMEOUT : CALLS_TO_MASTER
  const room = priceOfRead(read.ports.view.nodes().length) - 1 - ownerCalls(agents)
  const content = await readSome(all, agents, agents.inOrder(node), calls, {
    agents: room,
    node,
    first: first?.page === undefined ? undefined : first,
    isOfOneNode: false,
  })
  const { rows } = content
  reportCoverage(read, agents.connected + 1, [content, { failed: unreachable }])
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
  const { byNode, hasUnknown } = agents.index
  // If the node of some agent is unknown, the manager asks itself twice.
  const ofMaster = hasUnknown ? totalOf(rows.filter(({ node }) => node === master)) : 0
  if (page?.total === totalOf(rows) + ofMaster) return
  for (const node of new Set([...ports.view.nodes().map(({ name }) => name), ...byNode.keys()])) {
    if (node !== master && report.errorsOf(node).length === 0) report.addError(node, createPartError(935, ''))
  }
}
