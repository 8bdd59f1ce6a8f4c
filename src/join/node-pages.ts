/** The rows of one node or agent, in pages that are fetched when a merge needs them. */
import type { EdgeRead } from '../core/request.ts'
import { MAX_LIMIT } from '../query/request.ts'
import type { DatabaseSource } from '../query/sources.ts'
import type { MergeInput } from '../rows/merge.ts'
import { countRows, type Rows, UnreadableRowsError } from '../rows/rows.ts'
import { type JoinedRead, omitParameters, selectWithSortFields } from './joined-read.ts'
import {
  createUnreadableError,
  type FetchNodePart,
  type PartError,
  PartFetchError,
  type ReceivedPart,
  rowsOfPart,
} from './node-part.ts'
import { MANAGER_AGENT_ID } from './owner-lookup.ts'

/** The rows that a node contributes to a joined response. */
export interface NodeRows extends MergeInput {
  readonly node: string
  readonly total: number
}

type NodeRowsResult = { readonly ok: true; readonly rows: NodeRows } | { readonly ok: false; readonly error: PartError }

interface NodePagesRequest {
  readonly node: string
  /** Without offset and limit; with the sort of the merge, or without a sort. */
  readonly request: EdgeRead
  /** Rows of the first page; further pages have 1,000. */
  readonly limit: number
  /** Whether the node returns its rows in the order of the merge. */
  readonly isSorted: boolean
  readonly inject?: NonNullable<MergeInput['inject']>
  readonly fetchPart: FetchNodePart
}

/** The code of the framework for a sort by a field that a row lacks, or that has values of several types. */
const SORT_FAILED = 1000

/** Fetches the first page. */
export async function readNodeRows(pages: NodePagesRequest): Promise<NodeRowsResult> {
  const { request, fetchPart, node } = pages
  const limit = pages.isSorted ? pages.limit : MAX_LIMIT
  const part = await fetchPart(node, requestPage(request, 0, limit))
  if (part.ok) return createNodeRows({ ...pages, limit }, part)
  const { sort, ...query } = request.query
  // Without a sort the node has no reason to fail; the merge sorts the rows.
  if (part.error.code === SORT_FAILED && sort !== undefined) {
    return readNodeRows({ ...pages, request: { ...request, query }, isSorted: false })
  }
  return { ok: false, error: part.error }
}

function createNodeRows(pages: NodePagesRequest, part: ReceivedPart): NodeRowsResult {
  const found = rowsOfPart(part)
  if (!found.ok) return { ok: false, error: createUnreadableError(found.reason) }
  const rows = expectFullPage(found.rows, 0, pages.limit)
  const { total } = rows
  const { isSorted, inject, node } = pages
  const fetchMore = total > pages.limit ? createFurtherPages(pages, total) : undefined
  return { ok: true, rows: { node, total, rows, isSorted, ...(inject && { inject }), ...(fetchMore && { fetchMore }) } }
}

/** Each page is fetched once for all merges. */
function createFurtherPages(pages: NodePagesRequest, total: number): NonNullable<MergeInput['fetchMore']> {
  const fetched: Promise<Rows | undefined>[] = []
  return async (at) => {
    const offset = pages.limit + at * MAX_LIMIT
    if (offset >= total) return undefined
    const page = fetched[at] ?? fetchPage(pages, offset)
    fetched[at] = page
    return page
  }
}

/** Returns undefined if rows were removed since the page before and none are left. */
async function fetchPage({ fetchPart, node, request }: NodePagesRequest, offset: number): Promise<Rows | undefined> {
  const part = await fetchPart(node, requestPage(request, offset, MAX_LIMIT))
  if (!part.ok) throw new PartFetchError(part.error)
  const found = rowsOfPart(part)
  if (!found.ok) throw new PartFetchError(createUnreadableError(found.reason))
  return found.rows.total > offset ? expectFullPage(found.rows, offset, MAX_LIMIT) : undefined
}

/** A page is full or the last one. Otherwise a node with a wrong total would be asked for pages without end. */
function expectFullPage(page: Rows, offset: number, limit: number): Rows {
  return { ...page, expectedCount: Math.min(limit, Math.max(0, page.total - offset)) }
}

function requestPage(request: EdgeRead, offset: number, limit: number): EdgeRead {
  const query = { ...request.query, limit: String(limit), ...(offset > 0 && { offset: String(offset) }) }
  return { ...request, query }
}

/** Rounds up to one of two page sizes, so that different pages of a collection share cached parts. */
export function roundUpLimit(rows: number): number {
  return rows <= MAX_LIMIT / 2 ? MAX_LIMIT / 2 : MAX_LIMIT
}

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
  const part = await fetchPart(node, { ...request, extent: { node }, query }, deadline)
  if (!part.ok) return { error: part.error }
  const found = rowsOfPart(part)
  if (!found.ok) return { error: createUnreadableError(found.reason) }
  const page = found.rows
  try {
    const count = countRows(page)
    return { page, count, isWhole: page.total <= MAX_LIMIT && count === page.total }
  } catch (error) {
    if (error instanceof UnreadableRowsError) return { error: createUnreadableError(error.reason) }
    throw error
  }
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

/** Agent `000` of each node is the node itself, so its rows get the name of the node. */
export function nodeRowsOf(node: string, page: Rows): NodeRows {
  const inject = { first: { node_name: node }, where: { field: 'agent_id', is: MANAGER_AGENT_ID } }
  return { node, total: page.total, rows: page, isSorted: false, inject }
}
