/** The rows of all agents in distribution mode `edge`: each node returns those of the agents that report to it. */

import { setImmediate as immediate } from 'node:timers/promises'
import { agentIdsOf } from '../collections/agent-ids.ts'
import { priceOfRead } from '../core/request.ts'
import { withTimeout } from '../core/timing.ts'
import { waitForJsonTurn } from '../core/turns.ts'
import { type AgentCalls, readAgentRows } from './agent-rows.ts'
import {
  type AllAgentsRead,
  CONCURRENT_CALLS,
  isNoNode,
  namesAgents,
  ownerCalls,
  type ReadAllAgents,
  readSome,
  reportCoverage,
  rowsOfPage,
} from './all-agents.ts'
import { type FirstPage, readFirstPage } from './first-page.ts'
import { checkTotal, type JoinedRead } from './joined-read.ts'
import { createPartError, type PartError } from './node-part.ts'
import { MANAGER_AGENT_ID } from './owner-lookup.ts'
import type { ContentByNode, NodeContent, ReadAgents } from './read-agents.ts'

const CALLS_TO_OWNERS: AgentCalls = {
  nodes: Number.POSITIVE_INFINITY,
  perNode: CONCURRENT_CALLS,
  extentOf: ({ id, node }) => (id === MANAGER_AGENT_ID ? { node } : 'whole'),
}

/** Nodes are read independently of each other: one that hangs must not take the time of the others. */
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
  const unreachable = agents.reportUnreachable((node) => nodes.includes(node))
  const owned = await Promise.all(
    [...contents].map(async ([node, content]) => {
      if (content.ids === undefined) return { ...content, failed: agents.of(node).length }
      return agents.hasRowsOfOthers(node, contents) ? readOwned(all, agents, node) : content
    }),
  )
  const moved = await readAgentRows(all, agents.missingIn(contents), CALLS_TO_OWNERS)
  reportCoverage(read, agents.connected + nodes.length, [...owned, moved, { failed: unreachable }])
  return [...owned, moved].flatMap(({ rows }) => rows)
}

async function readNode(all: AllAgentsRead, node: string): Promise<NodeContent | PartError> {
  const { read, loading } = all
  // The page has the rows of many agents, which a complete read asks one by one. Owners that are not there yet are not awaited.
  const ready = read.isComplete ? await Promise.race([loading, immediate(undefined)]) : undefined
  const isSkipped = namesAgents(read) || ready?.agents?.exceedsList(node) === true
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
  if (agents === undefined) return isWhole ? { rows: [rowsOfPage(node, page, true)] } : undefined
  const ids = agentIdsOf(page).filter(isNoNode)
  const checked = await agents.checkPage(ids, node)
  if ('code' in checked) return checked
  if (!checked.isOwn) return undefined
  if (!isWhole || agents.exceedsList(node)) return first
  return { rows: [rowsOfPage(node, page, true)], ids }
}

/** Returns the error of a node whose rows are not its own only, because it distributes requests itself. */
async function findFault({ request, ports, fanOut }: JoinedRead, node: string): Promise<PartError | undefined> {
  const asked = ports.isDistributing(node, request.caller.credentials)
  const isDistributing = await withTimeout(asked, fanOut.deadline - performance.now(), false)
  return isDistributing ? createPartError(937, ` (${node})`) : undefined
}
