import type { EdgeRequest } from '../core/request.ts'
import type { Rows } from './agent-rows.ts'
import { type RowsPart, readPart } from './bytes/envelope-rows.ts'
import type { JoinPart } from './bytes/join.ts'
import { countRows, UnreadableRows } from './bytes/rows.ts'
import { type Reading, withOrderFields, without } from './fan-out.ts'
import { type Fault, type Part, PartFailed, unreadable } from './node-part.ts'
import { MANAGER } from './owner-lookup.ts'

/** The rows of one node or agent, in pages that are read as they are needed. */

/** The most rows that a node gives at once. */
export const MOST = 1000

/** Rows that stand beside others in a joined answer. Made a part of a join anew for each attempt at it. */
export interface Piece {
  readonly node: string
  readonly total: number
  /** `lazily`: further pages may be asked for. */
  join(lazily: boolean): JoinPart
}

export type Paged =
  | { readonly ok: true; readonly first: RowsPart; readonly piece: Piece }
  | { readonly ok: false; readonly fault: Fault }

/** Asks for a part, and writes down what was given; what a failure means is the asker's to say. */
export type Get = (node: string, ask: EdgeRequest, until?: number) => Promise<Part>

export interface PagesOf {
  readonly node: string
  /** Without offset; its `sort` is the order of the join, or it has none. */
  readonly ask: EdgeRequest
  /** Rows of the first page; further ones are of 1,000. */
  readonly limit: number
  /** Are its rows in the order of the join when it is asked so? */
  readonly trusted: boolean
  readonly inject?: NonNullable<JoinPart['inject']>
  readonly get: Get
}

/** The framework's word for a sort over a field that some row lacks, or holds as another type (semantics.md section 2). */
const NOT_SORTED = 1000

/** The first page, and how to go on. */
export async function readPages(pages: PagesOf): Promise<Paged> {
  const { ask, get, node } = pages
  const limit = pages.trusted ? pages.limit : MOST
  const part = await get(node, pageOf(ask, 0, limit))
  if (part.ok) return paged({ ...pages, limit }, part.bytes)
  const { sort: _, ...query } = ask.query
  // Asked without a sort it has no reason to fail; its rows are sorted here.
  const unsorted = part.fault.code === NOT_SORTED && ask.query.sort !== undefined
  if (unsorted) return readPages({ ...pages, ask: { ...ask, query }, trusted: false })
  return { ok: false, fault: part.fault }
}

function paged(pages: PagesOf, bytes: Buffer): Paged {
  const read = readPart(bytes)
  if (!read.ok) return { ok: false, fault: unreadable(read.reason) }
  const first = counted(read.part, 0, pages.limit)
  const later = furtherPages(pages, first.total)
  const { trusted, inject, node } = pages
  return {
    ok: true,
    first,
    piece: {
      node,
      total: first.total,
      join: (lazily) => ({
        rows: first,
        trusted,
        ...(inject && { inject }),
        ...(lazily && first.total > pages.limit && { more: later() }),
      }),
    },
  }
}

/** Each join reads the pages from the beginning; none is asked for twice. */
function furtherPages(pages: PagesOf, total: number): () => () => Promise<RowsPart | undefined> {
  const known: Promise<RowsPart | undefined>[] = []
  const page = (at: number) => {
    const found = known[at] ?? nextPage(pages, pages.limit + at * MOST)
    known[at] = found
    // Whoever reads it hears of a failure.
    found.catch(() => undefined)
    return found
  }
  return () => {
    let at = -1
    return async () => {
      at += 1
      return pages.limit + at * MOST < total ? page(at) : undefined
    }
  }
}

/** Undefined: there were more when the page before was made, and now there are none. */
async function nextPage({ get, node, ask }: PagesOf, offset: number): Promise<RowsPart | undefined> {
  const part = await get(node, pageOf(ask, offset, MOST))
  if (!part.ok) throw new PartFailed(part.fault)
  const read = readPart(part.bytes)
  if (!read.ok) throw new PartFailed(unreadable(read.reason))
  return read.part.total > offset ? counted(read.part, offset, MOST) : undefined
}

/** A page is full, or the last one: a node that gives less and promises more would be asked on and on. */
function counted(part: RowsPart, offset: number, limit: number): RowsPart {
  return { ...part, count: Math.min(limit, Math.max(0, part.total - offset)) }
}

function pageOf(ask: EdgeRequest, offset: number, limit: number): EdgeRequest {
  const query = { ...ask.query, limit: String(limit), ...(offset > 0 && { offset: String(offset) }) }
  return { ...ask, query }
}

/** Few sizes, so that pages of one collection share what is kept of its nodes. */
export function roundedLimit(need: number): number {
  return need <= MOST / 2 ? MOST / 2 : MOST
}

/** The first page of a node's own walk over its agents: taken where it is all that the node has. */

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
  const page = known.get(given.bytes) ?? readFirst(given.bytes)
  known.set(given.bytes, page)
  return page
}

function readFirst(bytes: Buffer): FirstPage {
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
