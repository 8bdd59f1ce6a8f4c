/** Reads all rows of a collection from the nodes, page by page or at once. */
import { collectionContracts } from '../../collections/contracts.ts'
import type { PageFrame } from '../../collections/page-frame.ts'
import { BYTES_PER_PART, PartWriter } from '../../collections/row-parts.ts'
import { findListInTurns, type ListedRows, parseBody } from '../../core/envelope.ts'
import type { SnapshotRefusal } from '../../core/events.ts'
import { OPEN, QUOTE } from '../../core/json-scan.ts'
import type { NodeReads } from '../../core/node-call.ts'
import { isPartial, partsOf } from '../../core/origins.ts'
import type { EdgeRead, Handler } from '../../core/request.ts'
import type { MadeOfParts } from '../../core/response.ts'
import { waitForJsonTurn } from '../../core/turns.ts'
import type { SnapshotLimits } from '../settings.ts'
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

type CollectionLimits = SnapshotLimits & Pick<NodeReads, 'rowsPerCall'>

/**
 * Calls the nodes for one page after the other. `check` receives the number of rows after the first page, and throws if
 * the others are not to be read. Throws SnapshotRefusedError unless all pages have the same total, the expected number of
 * rows, and no row twice; and what `next` throws.
 */
export async function readCollection(
  next: Handler<EdgeRead>,
  request: EdgeRead,
  { maxRows, maxBytes, rowsPerCall }: CollectionLimits,
  check: (total: number) => void = () => {},
): Promise<CollectionRows & Pick<SnapshotHead, 'frame'> & { readonly age: number }> {
  let read = 0
  let age = 0
  const writer = new PartWriter()
  const seen = new Set<string>()
  let total = 0
  let frame: PageFrame | undefined
  do {
    const query = { limit: String(rowsPerCall), ...(read > 0 && { offset: String(read) }) }
    // The rows are stored once, as a snapshot.
    const page = await readPage(next, { ...request, extent: 'whole', reuse: 'noStore', query })
    if (read === 0) {
      total = page.total
      if (total > maxRows) throw new SnapshotRefusedError('tooManyRows', `it has ${total} rows, more than ${maxRows}`)
      check(total)
      if (collectionContracts[request.endpoint.contract].framedByNode) frame = frameAround(page)
    } else if (page.total !== total) throw new SnapshotRefusedError('changed', 'its total changed between two pages')
    if (countRows(page) !== Math.min(rowsPerCall, total - read)) {
      throw new SnapshotRefusedError('changed', 'a page has another number of rows than its total demands')
    }
    await addRows(writer, page, total > rowsPerCall ? seen : undefined)
    read += countRows(page)
    age = Math.max(age, page.age)
    if (writer.bytes > maxBytes) throw new SnapshotRefusedError('tooManyBytes', `it is longer than ${maxBytes} bytes`)
  } while (read < total)
  return { totalItems: total, parts: writer.end(), bytes: writer.bytes, age, ...(frame && { frame }) }
}

interface Page extends ListedRows {
  readonly body: Buffer
  /** Milliseconds that a cache in front of the node has stored it. */
  readonly age: number
}

async function readPage(next: Handler<EdgeRead>, request: EdgeRead): Promise<Page> {
  const response = await next(request)
  if (response.kind === 'file' || response.status !== 200 || response.errorNumber !== 0 || isPartial(response)) {
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
  return { ...list, body, age: partsOf(origin).oldestPartAge }
}

function countRows({ rows }: ListedRows): number {
  return rows.ranges.length / 2
}

/** Returns the text of the node around the rows. Throws SnapshotRefusedError if the total does not follow the rows. */
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

interface JoinedRows extends CollectionRows {
  /** Members of `data` beside the rows and their number: `failed_nodes`. */
  readonly others: Readonly<Record<string, unknown>>
  /** What the nodes contributed, and for how long it is fresh. */
  readonly joined: MadeOfParts
}

/**
 * Calls the nodes for all rows at once. If nodes fail, their rows are missing and the response is `partial`, as any joined
 * response. Throws SnapshotRefusedError if there are too many rows, and what `next` throws.
 */
export async function readJoined(
  next: Handler<EdgeRead>,
  request: EdgeRead,
  { maxRows, maxBytes }: SnapshotLimits,
): Promise<JoinedRows> {
  const response = await next({ ...request, query: { limit: String(maxRows) } })
  if (response.kind === 'file' || response.status !== 200 || response.errorNumber !== 0) {
    throw new SnapshotRefusedError('nodeError', 'all nodes answer with errors')
  }
  const { body, origin } = response
  const parts = origin.kind === 'allRows' ? origin.rowParts : []
  const { items, totalItems, ...others } = parseBody(body).data as JoinedData
  if (totalItems > maxRows) throw new SnapshotRefusedError('tooManyRows', `more than ${maxRows} rows`)
  const bytes = parts.reduce((sum, part) => sum + part.length, 0)
  if (bytes > maxBytes) throw new SnapshotRefusedError('tooManyBytes', `it is longer than ${maxBytes} bytes`)
  let rows = 0
  for (const part of parts) {
    if (await hasLongNumber(part)) throw new SnapshotRefusedError('longNumbers', 'it may have a number of 16 digits')
    rows += countLines(part)
  }
  if (rows !== totalItems) throw new SnapshotRefusedError('nodeError', 'a node prints a row in several lines')
  return { totalItems, parts, bytes, others, joined: partsOf(origin) }
}

function countLines(part: Buffer): number {
  let lines = 1
  for (let at = part.indexOf(NEWLINE); at >= 0; at = part.indexOf(NEWLINE, at + 1)) lines += 1
  return lines
}

interface JoinedData extends Readonly<Record<string, unknown>> {
  readonly totalItems: number
}
