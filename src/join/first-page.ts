/** The first page of a node over all agents, of up to 1,000 unsorted rows, and which agents it covers. */

import { agentIdsOf } from '../collections/agent-ids.ts'
import { MAX_LIMIT } from '../collections/request.ts'
import { type Rows, rowsOf } from '../collections/rows.ts'
import type { DatabaseSource } from '../collections/sources.ts'
import type { EdgeRead } from '../core/request.ts'
import { waitForJsonTurn } from '../core/turns.ts'
import type { JoinedRead } from './joined-read.ts'
import { createUnreadableError, type PartError } from './node-part.ts'
import { MANAGER_AGENT_ID } from './owner-lookup.ts'
import { omitParameters, selectWithSortFields } from './part-queries.ts'
import type { ReadAgents } from './read-agents.ts'

export interface FirstPage {
  readonly page: Rows
  /** The rows on the page. */
  readonly count: number
  /** Whether these are all rows that the node counts. */
  readonly isWhole: boolean
  readonly error?: never
}

/** Fetches up to 1,000 rows of a node without a sort, so that all sorts and pages share the cached part. */
export async function readFirstPage(
  { request, fetchPart }: JoinedRead,
  source: DatabaseSource,
  node: string,
  deadline?: number,
): Promise<FirstPage | { readonly page?: never; readonly isWhole?: never; readonly error: PartError }> {
  const { select } = selectWithSortFields(request.query, source)
  const query = {
    ...omitParameters(request.query, 'offset', 'sort', 'select', 'agent_id'),
    limit: String(MAX_LIMIT),
    ...(select !== undefined && { select }),
  }
  const { endpoint, params } = request
  const part = await fetchPart(node, { endpoint, params, query, extent: { node } }, deadline)
  if (!part.ok) return { error: part.error }
  // The pages of all nodes may arrive in one turn.
  await waitForJsonTurn(part.response.body.length)
  const found = await rowsOf(part.response.body, part.rows)
  if (!found.ok) return { error: createUnreadableError(found.reason) }
  const page = found.rows
  const count = page.ranges.length / 2
  return { page, count, isWhole: page.total <= MAX_LIMIT && count === page.total }
}

/**
 * Whether the first page of the cluster has all rows, in distribution mode `manager`. The total may be too high: the
 * manager adds the totals of all nodes that it asks, although it drops equal rows, and it asks itself twice if the node
 * of some agent is unknown. A page that is not full has all rows whatever its total says, because a node whose rows do
 * not fit fills a page. The exception are rows of a few selected fields: many of them may be equal, and dropped.
 */
export function isWholeCluster({ page, count, isWhole }: FirstPage, { query }: EdgeRead): boolean {
  return isWhole || (count < MAX_LIMIT && (page.total <= MAX_LIMIT || query.select === undefined))
}

/**
 * Returns the agents of which a page has all rows: a page that is not full has those of all listed agents, a full one may lack
 * rows of its last agent. `ofNode`: whose page it is; otherwise the cluster has joined it, and may have dropped rows of a few
 * selected fields that are equal. Only the page of a node names its own rows.
 */
export function coveredBy(
  { page, count }: FirstPage,
  agents: Pick<ReadAgents, 'index' | 'nodeOf'>,
  { query }: Pick<EdgeRead, 'query'>,
  ofNode: string | undefined,
): ReadonlySet<string> {
  if (ofNode === undefined && query.select !== undefined && page.total > count) return new Set()
  const ids = count < MAX_LIMIT ? agents.index.listedIds : agentIdsOf(page).slice(0, -1)
  const isCovered = (id: string) => {
    if (id === MANAGER_AGENT_ID) return ofNode !== undefined
    const node = agents.nodeOf(id)
    return ofNode === undefined ? node !== undefined : node === ofNode
  }
  return new Set(ids.filter(isCovered))
}
