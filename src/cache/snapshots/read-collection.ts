/** Reads all rows of a collection from the nodes, page by page, or at once if the edge joins them. */
import { collectionContracts } from '../../collections/contracts.ts'
import type { PageFrame } from '../../collections/page-frame.ts'
import { BYTES_PER_PART, PartWriter } from '../../collections/row-parts.ts'
import type { CacheSettings } from '../../config/schema.ts'
import { findListInTurns, type ListedRows } from '../../core/envelope.ts'
import type { SnapshotRefusal } from '../../core/events.ts'
import { OPEN, QUOTE } from '../../core/json-scan.ts'
import type { NodeReads } from '../../core/node-call.ts'
import { isPartial, NO_PARTS, partsOf } from '../../core/origins.ts'
import type { EdgeRead, Handler } from '../../core/request.ts'
import type { MadeOfParts } from '../../core/response.ts'
import { waitForJsonTurn } from '../../core/turns.ts'
import type { SnapshotHead } from './head.ts'
import type { CollectionRows } from './rows.ts'

/** The rows cannot be read completely, or they are too many or too expensive. Requests are answered by the nodes. */
export class SnapshotRefusedError extends Error {
  readonly reason: SnapshotRefusal

  constructor(reason: SnapshotRefusal, detail: string) {
    super(`no snapshot of the collection: ${detail}`)
    this.name = 'SnapshotRefusedError'
    this.reason = reason
  }
}

/** JavaScript cannot represent larger numbers exactly. */
const LONG_NUMBER = /[:[,] ?-?\d{16}/
/** The longest text that the pattern matches, but one: a match may begin at the end of a part. */
const OVERLAP = 18

/** Larger collections have no snapshot. */
type CollectionLimits = Pick<CacheSettings['snapshots'], 'maxRows' | 'maxBytes'> & Pick<NodeReads, 'rowsPerCall'>

interface ReadRows extends CollectionRows, Pick<SnapshotHead, 'others' | 'frame'> {
  /** What the nodes contributed, and for how long it is fresh. */
  readonly madeOf: MadeOfParts
}

/**
 * Calls the nodes for one page after the other. `check` receives the number of rows after the first page, and throws if
 * the others are not to be read. Throws SnapshotRefusedError unless all pages have the same total, the expected number of
 * rows, and no row twice; and what `next` throws. If nodes fail, a joined response lacks their rows and is `partial`, as any.
 */
export async function readCollection(
  next: Handler<EdgeRead>,
  request: EdgeRead,
  { maxRows, maxBytes, rowsPerCall }: CollectionLimits,
  check: (total: number) => void = () => {},
): Promise<ReadRows> {
  let read = 0
  let madeOf = NO_PARTS
  const writer = new PartWriter()
  const seen = new Set<string>()
  let total = 0
  let around: Pick<ReadRows, 'others' | 'frame'> = {}
  do {
    const query = { limit: String(rowsPerCall), ...(read > 0 && { offset: String(read) }) }
    const page = await readPage(next, { ...request, query })
    if (read === 0) {
      total = page.total
      if (total > maxRows) throw new SnapshotRefusedError('tooManyRows', `it has ${total} rows, more than ${maxRows}`)
      check(total)
      around = textAround(page, request)
    } else if (page.total !== total) throw new SnapshotRefusedError('changed', 'its total changed between two pages')
    if (countRows(page) !== Math.min(rowsPerCall, total - read)) {
      throw new SnapshotRefusedError('changed', 'a page has another number of rows than its total demands')
    }
    await addRows(writer, page, total > rowsPerCall ? seen : undefined)
    read += countRows(page)
    madeOf = { ...page.madeOf, oldestPartAge: Math.max(madeOf.oldestPartAge, page.madeOf.oldestPartAge) }
    if (writer.bytes > maxBytes) throw new SnapshotRefusedError('tooManyBytes', `it is longer than ${maxBytes} bytes`)
  } while (read < total)
  return { totalItems: total, parts: writer.end(), bytes: writer.bytes, madeOf, ...around }
}

interface Page extends ListedRows, Pick<ReadRows, 'madeOf'> {
  readonly body: Buffer
}

async function readPage(next: Handler<EdgeRead>, request: EdgeRead): Promise<Page> {
  const response = await next(request)
  const isWhole = response.kind === 'envelope' && (isJoined(request) || !isPartial(response))
  if (!isWhole || response.status !== 200 || response.errorNumber !== 0) {
    throw new SnapshotRefusedError('nodeError', 'a node answers with an error')
  }
  const { body, origin } = response
  if (await hasLongNumber(body)) throw new SnapshotRefusedError('longNumbers', 'it may have a number of 16 digits')
  const { rowsName, totalName } = collectionContracts[request.endpoint.contract]
  const list = await findListInTurns(body, rowsName, totalName)
  if (list === undefined) throw new SnapshotRefusedError('nodeError', 'it is no collection')
  for (const [at, place] of list.rows.ranges.entries()) {
    if (at % 2 === 0 && body[place] !== OPEN && body[place] !== QUOTE)
      throw new SnapshotRefusedError('nodeError', 'its elements are neither objects nor texts')
  }
  return { ...list, body, madeOf: partsOf(origin) }
}

function countRows({ rows }: ListedRows): number {
  return rows.ranges.length / 2
}

/** Whether all rows are requested at once. */
function isJoined({ extent }: EdgeRead): boolean {
  return extent === 'allRows'
}

/**
 * Returns what a response has beside its rows: the text of a node around them, or further members of a joined one. Throws
 * SnapshotRefusedError if the total does not follow the rows that a node has framed.
 */
function textAround(page: Page, request: EdgeRead): Pick<ReadRows, 'others' | 'frame'> {
  if (collectionContracts[request.endpoint.contract].framedByNode) return { frame: frameAround(page) }
  // The edge writes the total of a joined response behind the rows, and then the other members of `data`.
  const others = isJoined(request) ? page.body.toString('utf8', page.totalAt.to + 1, page.body.length - 1) : ''
  return { others: others.length > 1 ? (JSON.parse(`{${others}`) as Readonly<Record<string, unknown>>) : {} }
}

function frameAround({ body, rows: { from, to, ranges }, totalAt }: Page): PageFrame {
  if (totalAt.from < to) throw new SnapshotRefusedError('nodeError', 'its total does not follow its rows')
  const text = (start: number, end?: number) => body.toString('utf8', start, end)
  return {
    before: text(0, ranges[0] ?? from),
    between: ranges.length > 2 ? text(ranges[1] ?? 0, ranges[2]) : ', ',
    beforeTotal: text(ranges.at(-1) ?? to, totalAt.from),
    after: text(totalAt.to),
  }
}

/** Searches the text that the node sent: a parsed number is rounded, and may be printed with an exponent. */
async function hasLongNumber(body: Buffer): Promise<boolean> {
  for (let at = 0; at < body.length; at += BYTES_PER_PART) {
    await waitForJsonTurn(Math.min(BYTES_PER_PART, body.length - at))
    if (LONG_NUMBER.test(body.toString('latin1', at, at + BYTES_PER_PART + OVERLAP))) return true
  }
  return false
}

/** Adds rows in turns of about a millisecond. Throws if one of them was `seen`. */
async function addRows(
  writer: PartWriter,
  { body, rows: { ranges } }: Page,
  seen: Set<string> | undefined,
): Promise<void> {
  let waited = 0
  for (let at = 0; at < ranges.length; at += 2) {
    const [from = 0, to = 0] = [ranges[at], ranges[at + 1]]
    if (to > waited) {
      waited = from + BYTES_PER_PART
      await waitForJsonTurn(BYTES_PER_PART)
    }
    const row = body.subarray(from, to)
    if (row.includes(NEWLINE)) throw new SnapshotRefusedError('nodeError', 'a node prints a row in several lines')
    const text = seen && row.toString('latin1')
    if (text !== undefined && seen?.has(text))
      throw new SnapshotRefusedError('repeatedRows', 'two of its rows are equal')
    if (text !== undefined) seen?.add(text)
    writer.add(row)
  }
}

const NEWLINE = 0x0a
