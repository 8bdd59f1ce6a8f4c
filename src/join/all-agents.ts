/**
 * Joined reads over the rows of all agents (`/experimental/…`). A node reads its first 500 agents, stops at the limit and
 * sorts afterwards, so its list is correct only if it is complete. Therefore nodes are asked for 1,000 rows without a
 * sort, whatever page the client wants, and if these are not all rows of the node, its agents are asked one by one, as
 * far as the price of the read allows. Beyond it, the response says how many agents it covers. `read-from-owners.ts` and
 * `read-through-master.ts` read the rows, each in its distribution mode.
 */

import { rowsOfAgents } from '../collections/agent-ids.ts'
import { MAX_LIMIT } from '../collections/request.ts'
import type { Rows } from '../collections/rows.ts'
import { sources } from '../collections/sources.ts'
import type { ReadEndpoint } from '../contracts/endpoint.ts'
import { envelopeOf } from '../core/envelope.ts'
import type { AllRowsOrigin, EdgeResponse } from '../core/response.ts'
import { traceAsync } from '../core/traced.ts'
import { waitForJsonTurn } from '../core/turns.ts'
import type { OwnedAgent } from './agent-index.ts'
import { type AgentCalls, type AgentRowsKind, type AgentRowsRead, readAgentRows } from './agent-rows.ts'
import { coveredBy, type FirstPage } from './first-page.ts'
import { type JoinedRead, TooManyRowsError } from './joined-read.ts'
import type { NodeRows } from './node-part.ts'
import type { NodeReport } from './node-report.ts'
import { MANAGER_AGENT_ID } from './owner-lookup.ts'
import { pageWindowOf, selectWithSortFields } from './part-queries.ts'
import { type LoadedAgents, loadAgents, type NodeContent, type ReadAgents } from './read-agents.ts'
import { mergeCollection } from './rules/collection.ts'

export interface AllAgentsRead extends AgentRowsRead {
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
    const { defaultSort, ...unsorted } = kind.source
    const options = {
      sort: request.query.sort,
      // Rows of a snapshot have the order that rows with equal sort fields have in a page.
      source: isSnapshot ? unsorted : kind.source,
      ...pageWindowOf(request),
      ...(drop && { drop }),
    }
    const response = await traceAsync(request.trace, 'merge', mergeCollection, rows, options, report)
    return isSnapshot ? { ...response, origin: allRowsOriginOf(report) } : response
  } catch (error) {
    if (!(error instanceof TooManyRowsError)) throw error
    // The total shows that the rows are not all rows.
    return envelopeOf({ error: 0, data: { items: [], totalItems: error.total } }, allRowsOriginOf(report))
  }
}

function allRowsOriginOf({ madeOf, fetchedParts }: NodeReport): AllRowsOrigin {
  return { ...madeOf, kind: 'allRows', fetchedParts }
}

function kindOf({ cache }: ReadEndpoint, ofAgent: ReadEndpoint): AgentRowsKind {
  const rows = 'never' in cache ? undefined : cache.snapshot
  const source = rows === undefined || rows === 'pages' ? undefined : sources[rows]
  if (source?.engine !== 'database') throw new Error(`the rows of ${ofAgent.path} are not a database table`)
  return { source, endpoint: ofAgent, isSingleObject: ofAgent.response.data === 'object' }
}

/** Rows of named agents are read from these agents only. */
export function namesAgents({ request }: JoinedRead): boolean {
  return request.query.agent_id !== undefined
}

/** Agent `000` of each node is the node itself. */
export function isNoNode(id: string): boolean {
  return id !== MANAGER_AGENT_ID
}

interface Price {
  /** How many agents may be asked one by one. */
  readonly agents: number
  readonly node: string
  /** The page of the node, if its rows are right as far as they go. */
  readonly first: FirstPage | undefined
  readonly isOfOneNode: boolean
}

/**
 * Asks agents one by one, or as many of them as the price of the read allows beside those that the page of the node covers.
 * A complete read, for which no client waits, asks all of them. Throws TooManyRowsError if the cluster has more agents than
 * such a read may have.
 */
export async function readSome(
  all: AllAgentsRead,
  known: ReadAgents,
  agents: readonly OwnedAgent[],
  calls: AgentCalls,
  { agents: room, node, first, isOfOneNode }: Price,
): Promise<NodeContent> {
  const { read } = all
  const { request, ports, isComplete } = read
  if (isComplete && known.size > ports.limits().agentsPerCollection)
    throw new TooManyRowsError(pageWindowOf(request).limit + 1)
  if (isComplete || namesAgents(read) || agents.length <= room)
    return { ...(await readAgentRows(all, agents, calls)), ids: agents.map(({ id }) => id).filter(isNoNode) }
  await waitForJsonTurn(first?.page.bytes.length ?? 0)
  const covered = first ? coveredBy(first, known, request, isOfOneNode ? node : undefined) : new Set<string>()
  const asked: OwnedAgent[] = []
  for (const agent of agents) {
    if (asked.length >= room) break
    if (!covered.has(agent.id)) asked.push(agent)
  }
  const ofPage =
    first && covered.size > 0 ? [rowsOfPage(node, await rowsOfAgents(first.page, covered), isOfOneNode)] : []
  const { rows, failed } = await readAgentRows(all, asked, calls)
  const ids = [...covered, ...asked.map(({ id }) => id)]
  return { rows: [...ofPage, ...rows], ids: ids.filter(isNoNode), cut: agents.length - ids.length, failed }
}

/** Reports of how many agents the rows are, if some were not asked. `all`: how many agents the read concerns. */
export function reportCoverage(
  { report }: JoinedRead,
  all: number,
  contents: readonly Omit<NodeContent, 'rows'>[],
): void {
  const sumOf = (name: 'cut' | 'failed') => contents.reduce((sum, { [name]: count = 0 }) => sum + count, 0)
  const cut = sumOf('cut')
  if (cut > 0) report.coverage = { covered: all - cut - sumOf('failed'), all }
}

/** The calls with which the owner table is read. */
export function ownerCalls(agents: ReadAgents): number {
  return Math.ceil(agents.size / MAX_LIMIT)
}

/**
 * Concurrent calls for agents to each node in mode `edge`, and to the master in mode `manager`. A node takes four by
 * default; half of them stay free for other requests.
 */
export const CONCURRENT_CALLS = 2

/**
 * Agent `000` of each node is the node itself, so its rows get the name of the node. On a page of the cluster, only the manager
 * could tell which of them are of which node, so they get none.
 */
export function rowsOfPage(node: string, page: Rows, isOfOneNode: boolean): NodeRows {
  const inject = { first: { name: 'node_name', value: node }, where: { field: 'agent_id', is: MANAGER_AGENT_ID } }
  return { node, total: page.total, rows: page, isSorted: false, ...(isOfOneNode && { inject }) }
}
