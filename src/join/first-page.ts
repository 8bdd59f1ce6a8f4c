/** The first page of a node's own walk over its agents: taken where it is all that the node has. */

import type { Rows } from './agents.ts'
import { type RowsPart, readPart } from './bytes/part.ts'
import { countRows, UnreadableRows } from './bytes/rows.ts'
import { MANAGER } from './home.ts'
import { MOST, type Piece } from './pages.ts'
import { type Fault, unreadable } from './part.ts'
import { type Reading, withOrderFields, without } from './reading.ts'

export type FirstPage = { readonly part: RowsPart; readonly whole: boolean } | { readonly fault: Fault }

/** What is kept near is the same bytes for each request: read once. */
const known = new WeakMap<Buffer, FirstPage>()

/** All rows of a node without an order, if 1,000 are all; shared by all sorts and windows of the same rows. */
export async function firstPage(reading: Reading, { source }: Rows, node: string, until?: number): Promise<FirstPage> {
  const { ask, get } = reading
  const { select } = withOrderFields(ask.query, source)
  const query = {
    ...without(ask.query, 'offset', 'sort', 'select', 'agent_id'),
    limit: String(MOST),
    ...(select !== undefined && { select }),
  }
  const given = await get(node, { ...ask, node, query }, until)
  if (!given.ok) return { fault: given.fault }
  const page = known.get(given.bytes) ?? pageOf(given.bytes)
  known.set(given.bytes, page)
  return page
}

function pageOf(bytes: Buffer): FirstPage {
  const read = readPart(bytes)
  if (!read.ok) return { fault: unreadable(read.reason) }
  const { part } = read
  try {
    return { part, whole: part.total <= MOST && countRows(part) === part.total }
  } catch (garbled) {
    if (garbled instanceof UnreadableRows) return { fault: unreadable(garbled.reason) }
    throw garbled
  }
}

/** `000` of each node is that node itself. */
export function pieceOf(node: string, part: RowsPart): Piece {
  const inject = { first: { node_name: node }, where: { field: 'agent_id', is: MANAGER } }
  return { node, total: part.total, join: () => ({ rows: part, trusted: false, inject }) }
}
