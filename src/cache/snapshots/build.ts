/** Reads all rows of a collection: page after page, or at once if the edge joins them. */
import { parseBody } from '../../core/envelope.ts'
import type { SnapshotRefusal } from '../../core/events.ts'
import type { EdgeRead, Handler } from '../../core/request.ts'
import { isPartial, type MadeOfParts, partsOf } from '../../core/response.ts'
import { waitForJsonTurn } from '../../core/turns.ts'
import type { Element } from '../../query/value.ts'
import { BYTES_PER_PART, PartWriter } from '../../rows/parts.ts'

export interface SnapshotLimits {
  readonly maxRows: number
  readonly maxBytes: number
}

/** The rows cannot be read completely, or they are too many or too expensive. Requests are answered by the nodes. */
export class SnapshotRefusedError extends Error {
  readonly reason: SnapshotRefusal

  constructor(reason: SnapshotRefusal, detail: string) {
    super(`no snapshot of the collection: ${detail}`)
    this.name = 'SnapshotRefusedError'
    this.reason = reason
  }
}

/** All rows of a collection as JSON lists of some rows each. */
export interface CollectionRows {
  readonly totalItems: number
  readonly parts: readonly Buffer[]
  /** The sum of the parts. */
  readonly bytes: number
}

/** What the nodes' API allows, which depends on its layout. */
export interface NodeReads {
  /** The maximum number of rows of one call. */
  readonly rowsPerCall: number
  /** Whether nodes join the rows of all agents. Otherwise the edge joins them, and each page takes all rows. */
  readonly joinsAgents: boolean
}

/** The classic layout. */
export const CLASSIC_READS: NodeReads = { rowsPerCall: 1000, joinsAgents: false }
/** JavaScript cannot represent larger numbers exactly. */
const LONG_NUMBER = /[:[,] ?-?\d{16}/
/** The longest text that the pattern matches, but one: a match may begin at the end of a part. */
const OVERLAP = 18

/** Returns the number of calls that read this number of rows. */
export function callsFor(total: number, { rowsPerCall }: NodeReads): number {
  return Math.max(1, Math.ceil(total / rowsPerCall))
}

/**
 * Calls the nodes for one page after the other. `check` receives the number of rows after the first page, and throws if
 * the others are not to be read. Throws SnapshotRefusedError unless all pages have the same total, the expected number of
 * rows, and no row twice; and what `next` throws.
 */
export async function readCollection(
  next: Handler<EdgeRead>,
  request: EdgeRead,
  { maxRows, maxBytes, rowsPerCall }: SnapshotLimits & Pick<NodeReads, 'rowsPerCall'>,
  check: (total: number) => void,
): Promise<CollectionRows> {
  let read = 0
  const writer = new PartWriter()
  const seen = new Set<string>()
  let total = 0
  do {
    const query = { limit: String(rowsPerCall), ...(read > 0 && { offset: String(read) }) }
    const page = await readPage(next, { ...request, extent: 'whole', query })
    if (read === 0) {
      total = page.totalItems
      if (total > maxRows) throw new SnapshotRefusedError('tooManyRows', `it has ${total} rows, more than ${maxRows}`)
      check(total)
    }
    if (page.totalItems !== total) throw new SnapshotRefusedError('changed', 'its total changed between two pages')
    if (page.items.length !== Math.min(rowsPerCall, total - read)) {
      throw new SnapshotRefusedError('changed', 'a page has another number of rows than its total demands')
    }
    await addRows(writer, page, total > rowsPerCall ? seen : undefined)
    read += page.items.length
    if (writer.bytes > maxBytes) throw new SnapshotRefusedError('tooManyBytes', `it is longer than ${maxBytes} bytes`)
  } while (read < total)
  return { totalItems: total, parts: writer.end(), bytes: writer.bytes }
}

interface Page {
  readonly items: readonly Element[]
  readonly totalItems: number
  readonly bytes: number
}

async function readPage(next: Handler<EdgeRead>, request: EdgeRead): Promise<Page> {
  const response = await next(request)
  if (response.kind === 'file' || response.status !== 200 || response.errorNumber !== 0 || isPartial(response)) {
    throw new SnapshotRefusedError('nodeError', 'a node answers with an error')
  }
  if (await hasLongNumber(response.body)) {
    throw new SnapshotRefusedError('longNumbers', 'it may have a number of 16 digits')
  }
  await waitForJsonTurn(response.body.length)
  const { items, totalItems } = (parseBody(response.body).data ?? {}) as { items?: unknown; totalItems?: unknown }
  if (!Array.isArray(items) || !Number.isSafeInteger(totalItems)) {
    throw new SnapshotRefusedError('nodeError', 'it is no collection')
  }
  if (!items.every(isElement)) throw new SnapshotRefusedError('nodeError', 'its elements are neither objects nor texts')
  return { items, totalItems: totalItems as number, bytes: response.body.length }
}

function isElement(item: unknown): item is Element {
  return typeof item === 'string' || (typeof item === 'object' && item !== null && !Array.isArray(item))
}

/** Searches the text that the node sent: a parsed number is rounded, and may be printed with an exponent. */
async function hasLongNumber(body: Buffer): Promise<boolean> {
  for (let at = 0; at < body.length; at += BYTES_PER_PART) {
    await waitForJsonTurn(Math.min(BYTES_PER_PART, body.length - at))
    if (LONG_NUMBER.test(body.toString('latin1', at, at + BYTES_PER_PART + OVERLAP))) return true
  }
  return false
}

/** Prints rows in turns of about a millisecond. `bytes`: about their length as text. Throws if one of them was `seen`. */
async function addRows(writer: PartWriter, { items, bytes }: Page, seen: Set<string> | undefined): Promise<void> {
  const perTurn = Math.max(1, Math.floor((items.length * BYTES_PER_PART) / bytes))
  for (let at = 0; at < items.length; at += perTurn) {
    const some = items.slice(at, at + perTurn)
    await waitForJsonTurn(Math.ceil((bytes / items.length) * some.length))
    for (const item of some) {
      const row = JSON.stringify(item)
      if (seen?.has(row)) throw new SnapshotRefusedError('repeatedRows', 'two of its rows are equal')
      seen?.add(row)
      writer.add(Buffer.from(row))
    }
  }
}

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
    await waitForJsonTurn(part.length)
    const text = part.toString()
    if (LONG_NUMBER.test(text)) throw new SnapshotRefusedError('longNumbers', 'it may have a number of 16 digits')
    rows += text.split('\n').length
  }
  if (rows !== totalItems) throw new SnapshotRefusedError('nodeError', 'a node prints a row in several lines')
  return { totalItems, parts, bytes, others, joined: partsOf(origin) }
}

interface JoinedData extends Readonly<Record<string, unknown>> {
  readonly totalItems: number
}
