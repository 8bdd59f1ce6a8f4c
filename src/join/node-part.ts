/**
 * The response of one node within a joined response, as a value: the failure of one node must not fail the others. And its
 * rows, in pages that are fetched when a merge needs them.
 */

import type { MergeInput } from '../collections/merge.ts'
import { MAX_LIMIT } from '../collections/request.ts'
import { type Rows, rowsOf } from '../collections/rows.ts'
import { type CacheDetail, isStale, WITHOUT_REDIS } from '../core/cache.ts'
import { parseBodyInTurns } from '../core/envelope.ts'
import { EdgeError, type ErrorCode } from '../core/errors.ts'
import { cachedOf, nodeOriginOf, partsOf } from '../core/origins.ts'
import type { EdgeRead, EdgeRequest, Handler, RequestClient } from '../core/request.ts'
import type { EdgeResponse, EnvelopeResponse, RowRanges } from '../core/response.ts'
import { proxyErrorOf, throwIfAbandoned } from './proxy-errors.ts'

export interface ReceivedPart {
  readonly ok: true
  readonly response: EnvelopeResponse
  /** The places of its rows. Absent: the response was not checked for this request. */
  readonly rows?: RowRanges | undefined
  /** Whether it came from the cache. */
  readonly isHit: boolean
  /** Why a stale response was used. */
  readonly stale?: CacheDetail
  /** It may be used for this caller only, or lacks rows of failed nodes: what is joined of it is not stored. */
  readonly isUnstorable: boolean
  /** When it was generated, by performance.now(). */
  readonly asOf: number
  /** When its freshness lifetime ends, by performance.now(); Infinity if it may not be stored. */
  readonly freshUntil: number
}

export interface PartError {
  readonly code: number
  readonly message: string
  /** The error type of RFC 9209 section 2.3. */
  readonly proxyError: string
  /** The response of the node, if the error is its own. */
  readonly response?: EnvelopeResponse
  /** The error of the edge, if the node did not respond. */
  readonly edgeError?: EdgeError
}

type NodePart = ReceivedPart | { readonly ok: false; readonly error: PartError }

/** The members in which the request for a part differs from the joined one. `extent`: absent: `whole`. */
export type NodePartRequest = Pick<EdgeRead, 'endpoint' | 'params' | 'query'> & Partial<Pick<EdgeRead, 'extent'>>

/** Fetches the part of a node and records it in the report; the caller decides what a failure means. */
export type FetchNodePart = (node: string, part: NodePartRequest, deadline?: number) => Promise<NodePart>

/** Rejects only if the client leaves. `client` is that of the joined request; the signal of `request` may end earlier. */
export async function receivePart<R extends EdgeRequest>(
  handler: Handler<R>,
  request: R,
  client: RequestClient,
): Promise<NodePart> {
  client.signal.throwIfAborted()
  try {
    return await toNodePart(await handler(request))
  } catch (thrown) {
    throwIfAbandoned(thrown, client)
    return { ok: false, error: toPartError(thrown) }
  }
}

async function toNodePart(response: EdgeResponse): Promise<NodePart> {
  // Endpoints that return files are never joined.
  if (response.kind === 'file') return { ok: false, error: createUnreadableError('a file instead of JSON') }
  const { errorNumber: code, body, origin } = response
  if (code !== 0) {
    const { message = '' } = await parseBodyInTurns(body)
    return { ok: false, error: { code, message, proxyError: proxyErrorOf(code), response } }
  }
  const cached = cachedOf(response)
  const detail = cached?.status.detail
  // A response may be fresh and still be `stale-if-error`: the request wanted a newer one, or `without-redis`.
  const stale = isStale(detail) || detail === WITHOUT_REDIS ? detail : undefined
  const own = nodeOriginOf(origin)
  const now = performance.now()
  return {
    ok: true,
    response,
    rows: own?.rows,
    isHit: cached?.status.hit === true,
    asOf: now - (cached?.age ?? partsOf(origin).oldestPartAge),
    freshUntil: cached === undefined ? Number.POSITIVE_INFINITY : now + cached.response.ttl - cached.age,
    ...(stale !== undefined && { stale }),
    isUnstorable: own !== undefined && (own.isPersonal || own.namesFailedNodes),
  }
}

export function toPartError(thrown: unknown): PartError {
  const edgeError = thrown instanceof EdgeError ? thrown : new EdgeError(949, '', { cause: thrown })
  const { code, message, cause } = edgeError
  return { code, message, proxyError: proxyErrorOf(code, cause), edgeError }
}

export function createPartError(code: ErrorCode, detail: string): PartError {
  return toPartError(new EdgeError(code, detail))
}

export function createUnreadableError(reason: string): PartError {
  return createPartError(925, ` (${reason})`)
}

/** Thrown when a further page cannot be fetched while rows are merged. */
export class PartFetchError extends Error {
  readonly partError: PartError

  constructor(partError: PartError) {
    super(partError.message)
    this.name = 'PartFetchError'
    this.partError = partError
  }
}

/** The rows that a node contributes to a joined response. */
export interface NodeRows extends MergeInput {
  readonly node: string
  readonly total: number
}

type NodeRowsResult = { readonly ok: true; readonly rows: NodeRows } | { readonly ok: false; readonly error: PartError }

interface NodePagesRequest {
  readonly node: string
  /** Without offset and limit; with the sort of the merge, or without a sort. */
  readonly part: NodePartRequest
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
  const { part, fetchPart, node } = pages
  const limit = pages.isSorted ? pages.limit : MAX_LIMIT
  const received = await fetchPart(node, { ...part, query: { ...part.query, limit: String(limit) } })
  if (!received.ok) {
    const { sort, ...query } = part.query
    // Without a sort the node has no reason to fail; the merge sorts the rows.
    if (received.error.code === SORT_FAILED && sort !== undefined)
      return readNodeRows({ ...pages, part: { ...part, query }, isSorted: false })
    return { ok: false, error: received.error }
  }
  const found = await rowsOf(received.response.body, received.rows)
  if (!found.ok) return { ok: false, error: createUnreadableError(found.reason) }
  const rows = expectFullPage(found.rows, 0, limit)
  const { total } = rows
  const { isSorted, inject } = pages
  const fetchMore = total > limit ? createFurtherPages({ ...pages, limit }, total) : undefined
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
async function fetchPage({ fetchPart, node, part }: NodePagesRequest, offset: number): Promise<Rows | undefined> {
  const query = { ...part.query, limit: String(MAX_LIMIT), offset: String(offset) }
  const received = await fetchPart(node, { ...part, query })
  if (!received.ok) throw new PartFetchError(received.error)
  const found = await rowsOf(received.response.body, received.rows)
  if (!found.ok) throw new PartFetchError(createUnreadableError(found.reason))
  return found.rows.total > offset ? expectFullPage(found.rows, offset, MAX_LIMIT) : undefined
}

/** A page is full or the last one. Otherwise a node with a wrong total would be asked for pages without end. */
function expectFullPage(page: Rows, offset: number, limit: number): Rows {
  return { ...page, expectedCount: Math.min(limit, Math.max(0, page.total - offset)) }
}

/** Rounds up to one of two page sizes, so that different pages of a collection share cached parts. */
export function roundUpLimit(rows: number): number {
  return rows <= MAX_LIMIT / 2 ? MAX_LIMIT / 2 : MAX_LIMIT
}
