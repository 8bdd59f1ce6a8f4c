/** What the distribution modes differ in when the rows of all agents are read. A mode leaves out what it does not need. */
import type { EdgeRead } from '../core/request.ts'
import { withTimeout } from '../core/timing.ts'
import { agentIdsOf, type Rows } from '../rows/rows.ts'
import type { JoinedRead } from './joined-read.ts'
import { type FirstPage, isWholeCluster, type NodeRows, nodeRowsOf } from './node-pages.ts'
import { createPartError, type PartError } from './node-part.ts'
import { MANAGER_AGENT_ID } from './owner-lookup.ts'
import type { LoadedAgents, OwnedAgent, ReadAgents } from './read-agents.ts'

/** Creates the mode of one read. */
export type CreateAllAgentsMode = (read: JoinedRead) => AllAgentsMode

export interface AgentCalls {
  readonly nodes: number
  readonly perNode: number
}

export interface AllAgentsMode {
  /** The nodes whose pages are read. */
  readonly nodes: readonly string[]
  /** By performance.now(). */
  readonly pageDeadline?: number
  /** Whether the page of a node would be incomplete, if that is known without waiting. */
  readonly skipsPage?: (node: string, loading: Promise<LoadedAgents>) => Promise<boolean>
  /** Returns the error of a node whose rows are not its own, or not its own only. */
  readonly findFault?: (node: string) => Promise<PartError | undefined>
  /** Whether agents may still be asked one by one after this error of the page. */
  readonly survives?: (error: PartError) => boolean
  /** Returns the rows of a page that is complete. `agents` is absent if the owners are unknown. */
  rowsOf(first: FirstPage, node: string, agents: ReadAgents | undefined): NodeRows | undefined
  /** Returns the requested agents whose rows the page of a node would have. */
  agentsOf(node: string, agents: ReadAgents): readonly OwnedAgent[]
  /** Returns the agents on a page for which the master is asked if they report to another node. */
  readonly checkedOn?: (page: Rows) => readonly string[]
  /** How many nodes of agents are called at once, and how many agents of each. */
  readonly calls: AgentCalls
  /** As `calls`, after the page of the node has failed with a timeout. Absent: the same. */
  readonly callsAfterTimeout?: AgentCalls
  /** Returns the extent of a call for the rows of an agent. */
  extentOf(agent: OwnedAgent): EdgeRead['extent']
  /** Reports agents whose node is unknown, before agents are asked one by one. */
  readonly beforeAgents?: (agents: ReadAgents) => void
  /** The same, when all nodes were read. */
  readonly afterNodes?: (agents: ReadAgents) => void
  /** Reports nodes whose rows cannot be read agent by agent. */
  readonly reportMissing?: (agents: ReadAgents, rows: readonly NodeRows[], first: FirstPage | undefined) => void
}

/**
 * Concurrent calls for agents to each node in mode `edge`, and to the master in mode `manager`. A node takes four by
 * default; half of them stay free for other requests.
 */
const CONCURRENT_CALLS = 2

/** Mode `edge`: each node returns the rows of its own agents. */
export function ownRowsOfNodes({ request, ports, fanOut }: JoinedRead): AllAgentsMode {
  const nodes = ports.view.nodes().map(({ name }) => name)
  return {
    nodes,
    skipsPage: async (node, loading) => (await ifReady(loading))?.agents?.exceedsList(node) === true,
    findFault: async (node) => {
      const asked = ports.isDistributing(node, request.caller.credentials)
      const isDistributing = await withTimeout(asked, fanOut.deadline - performance.now(), false)
      return isDistributing ? createPartError(937, ` (${node})`) : undefined
    },
    rowsOf: ({ page, isWhole }, node, agents) =>
      isWhole && agents?.exceedsList(node) !== true ? nodeRowsOf(node, page) : undefined,
    agentsOf: (node, agents) => agents.of(node),
    // Agent `000` of each node is the node itself.
    checkedOn: (page) => agentIdsOf(page).filter((id) => id !== MANAGER_AGENT_ID),
    calls: { nodes: Number.POSITIVE_INFINITY, perNode: CONCURRENT_CALLS },
    extentOf: ({ id, node }) => (id === MANAGER_AGENT_ID ? { node } : 'whole'),
    afterNodes: (agents) => agents.reportUnreachable((node) => nodes.includes(node)),
  }
}

/** Resolves to undefined if the owners are not available without waiting for I/O. */
function ifReady(loading: Promise<LoadedAgents>): Promise<LoadedAgents | undefined> {
  const later = new Promise<undefined>((resolve) => {
    setImmediate(resolve, undefined)
  })
  return Promise.race([loading, later])
}

/** Codes with which the cluster fails as a whole because of one node; other nodes may respond for their agents. */
const WHOLE_CLUSTER_ERRORS: ReadonlySet<number> = new Set([
  922, 1000, 1017, 3000, 3009, 3016, 3018, 3020, 3021, 3022, 3023,
])
/** The share of the time that the page of the master may take; the rest is for single agents. */
const MASTER_PAGE_SHARE = 0.5

/**
 * Mode `manager`: the cluster joins by itself, but correctly on its first page only. The page of the master is used if it
 * is complete. If it is not, or if the cluster fails as a whole, agents are asked one by one.
 */
export function rowsThroughMaster(read: JoinedRead): AllAgentsMode {
  const master = read.ports.view.master().name
  return {
    nodes: [master],
    pageDeadline: read.fanOut.deadlineAt(MASTER_PAGE_SHARE),
    survives: ({ code }) => WHOLE_CLUSTER_ERRORS.has(code),
    rowsOf: (first, node, agents) => {
      const { page, count: total } = first
      if (agents?.exceedsList() || !isWholeCluster(first, read.request)) return undefined
      // Only the manager could tell which rows of agent `000` are of which node, so no node name is added.
      return { node, total, rows: page, isSorted: false }
    },
    agentsOf: (node, agents) => agents.inOrder(node),
    // The master passes calls to a node one by one: a second one for a node that hangs would take the place of others.
    calls: { nodes: CONCURRENT_CALLS, perNode: 1 },
    // A node hangs: concurrent calls to it would take the time of calls to others.
    callsAfterTimeout: { nodes: 1, perNode: 1 },
    extentOf: () => 'whole',
    // The manager passes calls on to all nodes, whether the edge has addresses of them or not.
    beforeAgents: (agents) => agents.reportUnreachable(() => true),
    reportMissing: (agents, rows, first) => {
      if (agents.isRequested(MANAGER_AGENT_ID)) reportRowsOfWorkers(read, agents, rows, first)
    },
  }
}

/**
 * Reports the workers whose own rows are missing: agent `000` of a worker is the worker itself, but through the master
 * that id has the rows of the master only. The total of the master's page can show that the workers have none.
 */
function reportRowsOfWorkers(
  { ports, report }: JoinedRead,
  agents: ReadAgents,
  rows: readonly NodeRows[],
  first: FirstPage | undefined,
): void {
  const master = ports.view.master().name
  const totalOf = (some: readonly NodeRows[]) => some.reduce((sum, { total }) => sum + total, 0)
  const { nodes, hasUnknown } = agents.owners()
  // If the node of some agent is unknown, the manager asks itself twice.
  const ofMaster = hasUnknown ? totalOf(rows.filter(({ node }) => node === master)) : 0
  if (first?.page.total === totalOf(rows) + ofMaster) return
  for (const node of new Set([...ports.view.nodes().map(({ name }) => name), ...nodes])) {
    if (node !== master && report.errorsOf(node).length === 0) report.addError(node, createPartError(935, ''))
  }
}
