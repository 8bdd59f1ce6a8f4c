/**
 * One source of sorted rows in a merge: a part whose node sorted it, read row by row and page by page; or a run of
 * rows that were sorted here.
 */

import type { RowsPart } from './envelope-rows.ts'
import type { JoinPart } from './join.ts'
import { advance, type Cursor, createCursor, UnreadableRows } from './rows.ts'
import { compareAll, type KeyReader, type Keys } from './sort-keys.ts'

/** What goes wrong with one part while it is joined. */
export class PartFault extends Error {
  readonly part: number
  readonly reason: string

  constructor(part: number, reason: string, cause?: unknown) {
    super(`Part ${part} cannot be joined: ${reason}`, { cause })
    this.name = 'PartFault'
    this.part = part
    this.reason = reason
  }
}

/** Does what reads rows of one part. */
export function reading<T>(part: number, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (error instanceof UnreadableRows) throw new PartFault(part, error.reason)
    throw error
  }
}

/** A row that is ready to be taken. */
export interface Head {
  readonly page: RowsPart
  readonly from: number
  readonly to: number
  /** The how manyth of its page. */
  readonly index: number
  readonly keys: Keys
}

/** `wait`: the next page must be fetched first. `wrong`: the rows are not in the order that was asked for. */
export type Step = 'row' | 'end' | 'wait' | 'wrong'

export interface Lane {
  /** Which part its rows are of. */
  readonly part: number
  /** Ties go by this: lanes stand in the order of their parts. */
  readonly place: number
  head: Head | undefined
  step(): Step
}

/** The pages of a part that were fetched, so that a join that begins again need not fetch them twice. */
export interface Pages {
  readonly part: number
  readonly list: RowsPart[]
  /** Fetches one more; false where there is none. */
  fetch(): Promise<boolean>
  complete: boolean
}

export function createPages({ rows, more }: JoinPart, part: number): Pages {
  const pages: Pages = { part, list: [rows], complete: more === undefined, fetch }
  return pages

  async function fetch(): Promise<boolean> {
    const next = await more?.().catch((cause: unknown) => {
      throw new PartFault(part, 'its next rows did not come', cause)
    })
    if (next) pages.list.push(next)
    else pages.complete = true
    return next !== undefined
  }
}

export function trustedLane(pages: Pages, place: number, reader: KeyReader, sign: 1 | -1): Lane {
  let page = 0
  let cursor: Cursor | undefined
  const lane: Lane = { part: pages.part, place, head: undefined, step: () => reading(pages.part, step) }
  return lane

  function step(): Step {
    for (;;) {
      const rows = pages.list[page]
      if (rows === undefined) return pages.complete ? end() : 'wait'
      cursor ??= createCursor(rows)
      if (advance(cursor, reader.read)) return take(rows, cursor)
      cursor = undefined
      page++
    }
  }

  function take(rows: RowsPart, { from, to, index }: Cursor): Step {
    const last = lane.head
    const keys = reader.keys(rows.bytes, from, to)
    lane.head = { page: rows, from, to, index, keys }
    return last && sign * compareAll(last.keys, keys) > 0 ? 'wrong' : 'row'
  }

  function end(): Step {
    lane.head = undefined
    return 'end'
  }
}

export function sortedLane(part: number, place: number, rows: readonly Head[]): Lane {
  let at = 0
  const lane: Lane = { part, place, head: undefined, step }
  return lane

  function step(): Step {
    lane.head = rows[at++]
    return lane.head ? 'row' : 'end'
  }
}
