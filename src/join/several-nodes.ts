import type { Endpoint } from '../catalogue/endpoint.ts'
import { parseEnvelope } from '../core/envelope.ts'
import { endOfValue, skipSpace } from '../core/json-scan.ts'
import type { EdgeRequest } from '../core/request.ts'
import type { EdgeResponse } from '../core/response.ts'
import { traceAsync, traceSync } from '../core/trace.ts'
import { collect } from '../query/collect.ts'
import { parseSort } from '../query/order.ts'
import { readRequest } from '../query/request.ts'
import { type ArraySource, sources } from '../query/sources.ts'
import { compareText, type Row, valueAt } from '../query/value.ts'
import { type Reading, windowOf, without } from './fan-out.ts'
import { readPages, roundedLimit } from './node-pages.ts'
import { edgeFault, unreadable } from './node-part.ts'
import { besides, compose, labelled, nothingCame } from './rules/collection.ts'

/** Several nodes at once: what each says of itself, as one collection in which every item names its node. */

const NODE = 'node_name'

export async function several(reading: Reading, ofNode: Endpoint): Promise<EdgeResponse> {
  const names = namesOf(reading)
  return reading.ask.endpoint.response.rows === 'nodeAnswers'
    ? nodeAnswers(reading, ofNode, names)
    : collections(reading, ofNode, names)
}

/** The nodes that are asked, master first; a name that nobody knows is a node that failed. */
function namesOf({ ask, ports, ledger }: Reading): readonly string[] {
  const { node_ids = '*' } = ask.params
  const all = ports.view.nodes().map(({ name }) => name)
  if (node_ids === '*') return all
  const named = node_ids.split(',')
  // `find` hears of nodes that are new, too.
  for (const name of named) if (ports.view.find(name) === undefined) ledger.failed(name, edgeFault(3022, ''))
  return all.filter((name) => named.includes(name))
}

function partOf({ ask }: Reading, ofNode: Endpoint, node: string, query: EdgeRequest['query']): EdgeRequest {
  const { node_ids: _, ...params } = ask.params
  return { ...ask, endpoint: ofNode, params: { ...params, node_id: node }, query }
}

/** Each node has a collection of its own: pages of it, joined. */
async function collections(reading: Reading, ofNode: Endpoint, names: readonly string[]): Promise<EdgeResponse> {
  const { ask, ledger, get } = reading
  const order = orderOf(ask.query.sort, names)
  const { offset, limit } = windowOf(ask)
  const query = without(ask.query, 'offset', 'limit', 'sort')
  const paged = await Promise.all(
    order.names.map(async (node) => {
      const own = { ...query, ...(order.ofNode !== undefined && { sort: order.ofNode }) }
      const part = partOf(reading, ofNode, node, own)
      const inject = { first: { [NODE]: node } }
      const pages = await readPages({
        node,
        ask: part,
        limit: roundedLimit(offset + limit),
        trusted: true,
        inject,
        get,
      })
      if (!pages.ok) ledger.failed(node, pages.fault)
      return pages.ok ? [pages.piece] : []
    }),
  )
  const how = { sort: order.ofNode, source: sourceOf(ask.endpoint, order), offset, limit }
  const by = { ...how, ...(order.before !== undefined && { before: order.before }) }
  return traceAsync(ask.trace, 'merge', () => compose(paged.flat(), by, ledger))
}

interface Order {
  /** In the order in which rows that are equal come. */
  readonly names: readonly string[]
  /** Without the name of the node. */
  readonly ofNode?: string
  /** How many fields come before the name of the node; absent: all. */
  readonly before?: number
}

/** `node_name` among the fields of a sort: nodes sort by the others, and come in the order of their names. */
function orderOf(sort: string | undefined, names: readonly string[]): Order {
  const { fields, descending } = parseSort(sort ?? '')
  const before = fields.indexOf(NODE)
  if (sort === undefined || before < 0) return { names, ...(sort !== undefined && { ofNode: sort }) }
  const sorted = [...names].sort((a, b) => (descending ? compareText(b, a) : compareText(a, b)))
  const others = fields.filter((field) => field !== NODE)
  const ofNode = others.length === 0 ? {} : { ofNode: (descending ? '-' : '') + others.join(',') }
  return { names: sorted, before, ...ofNode }
}

function sourceOf({ response: { rows }, path }: Endpoint, { before, ofNode }: Order) {
  if (rows === undefined || rows === 'nodeAnswers') throw new Error(`rows of ${path} are in no collection`)
  // By node alone: the rest is each node's own order.
  return before === 0 && ofNode === undefined ? ({ engine: 'array' } as const) : sources[rows]
}

/** Each node's whole answer is an item, or a list of items: few and small, so that they are parsed. */
async function nodeAnswers(reading: Reading, ofNode: Endpoint, names: readonly string[]): Promise<EdgeResponse> {
  const { ask, ledger, get } = reading
  const query = without(ask.query, 'offset', 'limit', 'sort', 'search')
  const given = await Promise.all(
    names.map(async (node) => {
      const part = await get(node, partOf(reading, ofNode, node, query))
      if (part.ok && !isBottomless(part.bytes)) return { node, rows: itemsOf(part.bytes, node, ofNode) }
      ledger.failed(node, part.ok ? unreadable('nested too deeply') : part.fault)
      return { node, rows: [] }
    }),
  )
  if (ledger.empty && ledger.faults.length > 0) return nothingCame(ledger)
  return traceSync(ask.trace, 'merge', () => mergeItems(reading, given))
}

interface Given {
  readonly node: string
  readonly rows: readonly Row[]
}

function mergeItems({ ask, ledger }: Reading, given: readonly Given[]): EdgeResponse {
  const rows = given.flatMap((each) => each.rows)
  const { sort, search } = ask.query
  const { offset, limit } = windowOf(ask)
  const request = readRequest(
    { ...(sort !== undefined && { sort }), ...(search !== undefined && { search }) },
    new Date(),
  )
  const { items, totalItems } = collect(rows, { ...request, offset, limit }, source(sort, rows))
  const shown = items.map((item) => (item as Row)[NODE])
  for (const { node, rows: own } of given) {
    ledger.rows(node, shown.filter((name) => name === node).length, own.length)
  }
  const data = { items, totalItems, ...besides(ledger) }
  return labelled(Buffer.from(JSON.stringify({ error: 0, data })), ledger)
}

/** A field may be sorted by if any row has it: nodes of several versions do not say the same. */
function source(sort: string | undefined, rows: readonly Row[]): ArraySource {
  const { fields } = parseSort(sort ?? '')
  const order = `+${NODE}`
  // A sign alone means the order of the nodes.
  if (fields.length === 0) return sort === undefined ? { engine: 'array' } : { engine: 'array', order }
  const sortable = fields.filter((field) => rows.length === 0 || rows.some((row) => valueAt(row, field) !== undefined))
  return { engine: 'array', sortable }
}

/** It was parsed when it came, but neither search nor sort nor print would come to its end. */
function isBottomless(bytes: Buffer): boolean {
  return endOfValue(bytes, skipSpace(bytes, 0)) < 0
}

/** An object's own `node_name` gives way; what is no object stands under a name of its own. */
function itemsOf(bytes: Buffer, node: string, { response: { data: shape } }: Endpoint): readonly Row[] {
  const { data } = parseEnvelope({ kind: 'json', status: 200, body: bytes })
  const rowOf = (value: unknown): Row => {
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      const { [NODE]: _, ...own } = value as Row
      return { [NODE]: node, ...own }
    }
    return shape === 'text' ? { [NODE]: node, contents: value } : { [NODE]: node, value }
  }
  return Array.isArray(data) ? data.map(rowOf) : [rowOf(data)]
}
