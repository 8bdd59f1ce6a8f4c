import type { Source } from '../../query/sources.ts'
import { run } from './cooperative.ts'
import type { RowsPart } from './envelope-rows.ts'
import { merge } from './merge.ts'
/**
 * Joins the rows of several answers into one page: a k-way merge over bytes. Rows are only read as far as the page
 * reaches, and only for their sort keys; the page is cut out of the answers' own bytes. Ties go by the order of the
 * parts, then by each part's own, so that pages are disjoint and their union is everything once.
 *
 * A part that its node sorted is trusted for as long as its rows come in order; one that does not is read whole and
 * sorted here, and the join begins again. Long work gives way to others every few milliseconds.
 */

/** Members put into each row: `first` before, `last` behind its own. What the row has already stays as it is. */
export interface Inject {
  readonly first?: Readonly<Record<string, string>>
  readonly last?: Readonly<Record<string, string>>
  /** Only into rows whose field has this text. */
  readonly where?: { readonly field: string; readonly is: string }
}

export interface JoinPart {
  readonly rows: RowsPart
  /** Sorted by its node as asked; else all its rows are read and sorted here. */
  readonly trusted: boolean
  /** The next rows of this part, asked for when those before are used up, until it gives none. */
  readonly more?: () => Promise<RowsPart | undefined>
  readonly inject?: Inject
}

export interface JoinHow {
  /** Text of `sort`; undefined: the source's own order. */
  readonly sort: string | undefined
  readonly source: Source
  /** So many fields of it go before the order of the parts, and the rest behind it; absent: all go before. */
  readonly before?: number
  readonly offset: number
  readonly limit: number
  /** Fields that were asked for only to sort by, and that no row of the page shall show. */
  readonly drop?: readonly string[]
}

export interface JoinedRows {
  readonly ok: true
  /** The text between `[` and `]`, commas included. */
  readonly pieces: readonly Buffer[]
  /** Rows of this page. */
  readonly count: number
  /** The sum of what the parts say of themselves. */
  readonly total: number
  /** How many rows of each part the page has. */
  readonly taken: readonly number[]
  /** Parts that were trusted and found out of order. */
  readonly distrusted: readonly number[]
}

/** One part is why: its rows cannot be read, or its `more` was rejected (`cause`). The others can be joined without it. */
export interface NotJoined {
  readonly ok: false
  readonly part: number
  readonly reason: string
  readonly cause?: unknown
}

export type Joined = JoinedRows | NotJoined

/**
 * Answers at once where nothing must be waited for and the work is short. Throws CollectionError (1403, 1404) for a
 * sort that the source does not know.
 */
export function joinRows(parts: readonly JoinPart[], how: JoinHow): Joined | Promise<Joined> {
  return run(merge(parts, how))
}

const HEAD = Buffer.from('{"error":0,"data":{"items":[')

/** The whole answer; `beside` are further members of `data`. */
export function joinedBody(joined: JoinedRows, beside: Readonly<Record<string, unknown>> = {}): Buffer {
  const rest = JSON.stringify(beside).slice(1, -1)
  const tail = Buffer.from(`],"totalItems":${joined.total}${rest === '' ? '' : `,${rest}`}}}`)
  return Buffer.concat([HEAD, ...joined.pieces, tail])
}
