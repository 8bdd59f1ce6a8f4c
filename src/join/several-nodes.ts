/** Joined reads of the nodes that a request names (`/cluster/:node_ids/…`). */

import { compileMatching } from '../collections/collect.ts'
import { compareText, parseSort } from '../collections/order.ts'
import { parseCollectionRequest, parsePage } from '../collections/request.ts'
import { printRows } from '../collections/rows.ts'
import { type ArraySource, type Source, sources } from '../collections/sources.ts'
import { fieldValue, type Row } from '../collections/value.ts'
import type { Endpoint, ReadEndpoint } from '../contracts/endpoint.ts'
import { parseBodyInTurns } from '../core/envelope.ts'
import type { EdgeRead } from '../core/request.ts'
import type { EdgeResponse } from '../core/response.ts'
import { traceAsync } from '../core/traced.ts'
import type { JoinedRead } from './joined-read.ts'
import { createPartError, readNodeRows, roundUpLimit } from './node-part.ts'
import { omitParameters, pageWindowOf } from './part-queries.ts'
import { mergeCollection, respondWithFirstError } from './rules/collection.ts'

const NODE_NAME = 'node_name'

/** Joins one collection of several nodes, in which every item has its `node_name`. `ofNode`: the endpoint for the same data of one node. */
export async function joinSeveralNodes(read: JoinedRead, ofNode: ReadEndpoint): Promise<EdgeResponse> {
  const { node_ids = '*', ...params } = read.request.params
  const of = { ofNode, params, nodes: requestedNodes(read, node_ids) }
  return ofNode.response.data === 'collection' ? mergeCollections(read, of) : mergeResponses(read, of)
}

/** The parts of a read: each node is asked for the endpoint `ofNode`. */
interface PartsOfNodes {
  readonly ofNode: ReadEndpoint
  /** Without the name of the node. */
  readonly params: EdgeRead['params']
  readonly nodes: readonly string[]
}

/** Returns the names of the requested nodes, master first. Unknown names are reported as failed nodes. */
function requestedNodes({ nodes, ports, report }: JoinedRead, node_ids: string): readonly string[] {
  if (node_ids === '*') return nodes
  const requested = node_ids.split(',')
  // `find` requests a discovery for unknown names, so that a later request finds a new node.
  for (const name of requested) {
    if (ports.view.find(name) === undefined) report.addError(name, createPartError(3022, ''))
  }
  return nodes.filter((name) => requested.includes(name))
}

/** For endpoints that return a collection on each node: merges their pages. */
async function mergeCollections(read: JoinedRead, { ofNode, params, nodes }: PartsOfNodes): Promise<EdgeResponse> {
  const { request, report, fetchPart } = read
  const order = orderOf(request.query.sort, nodes)
  const { sort, fieldsBeforeNode } = order
  const { offset, limit } = pageWindowOf(request)
  const { offset: _, limit: __, sort: ___, ...filters } = request.query
  const query = { ...filters, ...(sort !== undefined && { sort }) }
  const rows = await Promise.all(
    order.nodes.map(async (node) => {
      const result = await readNodeRows({
        node,
        part: { endpoint: ofNode, params: { ...params, node_id: node }, query },
        limit: roundUpLimit(offset + limit),
        isSorted: true,
        inject: { first: { name: NODE_NAME, value: node } },
        fetchPart,
      })
      if (!result.ok) report.addError(node, result.error)
      return result.ok ? [result.rows] : []
    }),
  )
  const options = {
    sort,
    source: sourceOf(request.endpoint, order),
    offset,
    limit,
    ...(fieldsBeforeNode !== undefined && { fieldsBeforeInput: fieldsBeforeNode }),
  }
  return traceAsync(request.trace, 'merge', mergeCollection, rows.flat(), options, report)
}

interface NodeOrder {
  /** Rows with equal sort fields have the order of their nodes. */
  readonly nodes: readonly string[]
  /** The sort without the name of the node, which nodes do not have as a field. */
  readonly sort: string | undefined
  /** The number of sort fields in front of the name of the node; `undefined`: all. */
  readonly fieldsBeforeNode: number | undefined
}

/** If the sort contains `node_name`, nodes sort by the other fields and are merged in the order of their names. */
function orderOf(sort: string | undefined, nodes: readonly string[]): NodeOrder {
  if (sort === undefined) return { nodes, sort, fieldsBeforeNode: undefined }
  const { fields, descending } = parseSort(sort)
  const fieldsBeforeNode = fields.indexOf(NODE_NAME)
  if (fieldsBeforeNode < 0) return { nodes, sort, fieldsBeforeNode: undefined }
  const sorted = [...nodes].sort((a, b) => (descending ? compareText(b, a) : compareText(a, b)))
  const others = fields.filter((field) => field !== NODE_NAME)
  const ofNode = others.length === 0 ? undefined : (descending ? '-' : '') + others.join(',')
  return { nodes: sorted, sort: ofNode, fieldsBeforeNode }
}

function sourceOf({ cache, path }: ReadEndpoint, { fieldsBeforeNode, sort }: NodeOrder): Source {
  const rows = 'never' in cache ? undefined : cache.storedRows
  if (rows === undefined || rows === 'none') throw new Error(`the kind of the rows of ${path} is not known`)
  // Sorted by the node alone, rows keep the order in which each node returns them.
  return fieldsBeforeNode === 0 && sort === undefined ? { engine: 'array' } : sources[rows]
}

/** For other endpoints: the data of each node is an item, or a list of items. These are few and small, so they are parsed. */
async function mergeResponses(read: JoinedRead, { ofNode, params, nodes }: PartsOfNodes): Promise<EdgeResponse> {
  const { request, report, fetchPart } = read
  const query = omitParameters(request.query, 'offset', 'limit', 'sort', 'search')
  const items = await Promise.all(
    nodes.map(async (node) => {
      const part = await fetchPart(node, { endpoint: ofNode, params: { ...params, node_id: node }, query })
      if (part.ok) return { node, rows: await parseItems(part.response.body, node, ofNode) }
      report.addError(node, part.error)
      return { node, rows: [] }
    }),
  )
  if (report.hasOnlyFailures) return respondWithFirstError(report)
  const { sort, search } = request.query
  const all = items.flatMap(({ rows }) => rows)
  const source = createItemSource(sort, all)
  const searched = parseCollectionRequest(search === undefined ? {} : { search }, new Date())
  const { pick } = compileMatching(searched, source, all, (row: Row) => row)
  const print = async ({ node, rows }: { readonly node: string; readonly rows: readonly Row[] }) => {
    const matches = rows.filter(pick)
    return { node, total: matches.length, rows: await printRows(matches), isSorted: false }
  }
  const rows = await Promise.all(items.map(print))
  const options = { sort, source, ...parsePage(pageWindowOf(request)) }
  return traceAsync(request.trace, 'merge', mergeCollection, rows, options, report)
}

/** Items may be sorted by any field that one of them has, because nodes of different versions return different fields. */
function createItemSource(sort: string | undefined, rows: readonly Row[]): ArraySource {
  const { fields } = parseSort(sort ?? '')
  // A sign without a field sorts by node.
  if (fields.length === 0) return { engine: 'array', ...(sort !== undefined && { defaultSort: `+${NODE_NAME}` }) }
  const sortable = fields.filter(
    (field) => rows.length === 0 || rows.some((row) => fieldValue(row, field) !== undefined),
  )
  return { engine: 'array', sortable }
}

/** A `node_name` of the node itself is replaced. A value that is not an object becomes the member of a new one. */
async function parseItems(
  bytes: Buffer,
  node: string,
  { response: { data: shape } }: Endpoint,
): Promise<readonly Row[]> {
  const { data } = await parseBodyInTurns(bytes)
  const toItem = (value: unknown): Row => {
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      const { [NODE_NAME]: _, ...own } = value as Row
      return { [NODE_NAME]: node, ...own }
    }
    return shape === 'text' ? { [NODE_NAME]: node, contents: value } : { [NODE_NAME]: node, value }
  }
  return Array.isArray(data) ? data.map(toItem) : [toItem(data)]
}
