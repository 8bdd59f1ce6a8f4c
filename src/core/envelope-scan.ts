/**
 * Checks the bytes of one response against the grammar of JSON (RFC 8259) in pieces, so that a long one need not be checked
 * in one turn of the event loop, and finds the members and the rows of its envelope. It accepts what `JSON.parse` accepts,
 * but nothing that is nested more deeply than `MAX_DEPTH`, has more lists and objects than `maxContainersOf`, or
 * longer white space than `MAX_GAP`.
 */
import {
  BACKSLASH,
  CLOSE,
  CLOSE_LIST,
  COLON,
  COMMA,
  endOfEscape,
  endOfScalar,
  IS_PLAIN,
  IS_SPACE,
  MAX_DEPTH,
  OPEN,
  OPEN_LIST,
  QUOTE,
  valueIn,
} from './json-scan.ts'
import type { RowRanges } from './response.ts'
import { waitForJsonTurn } from './turns.ts'
import { Numbers } from './values.ts'

export interface ByteRange {
  readonly from: number
  readonly to: number
}

/** The member of `data` that names the nodes whose rows are missing. */
export const FAILED_NODES = 'failed_nodes'
/** Members that no response may have twice: clients take the last one, and the edge acts on one. */
const KNOWN_NAMES = [
  ...['error', 'data', 'message', 'items', 'totalItems', 'affected_items', 'total_affected_items'],
  FAILED_NODES,
]
/** Each character of a name may be an escape of six. */
const MAX_NAME_BYTES = 6 * Math.max(...KNOWN_NAMES.map(({ length }) => length))
const MIN_NAME_BYTES = Math.min(...KNOWN_NAMES.map(({ length }) => length))

/** Bytes that are checked in one turn of the event loop. Hostile ones, of brackets alone, take about two milliseconds. */
const BYTES_PER_PIECE = 64 * 1024
/** The cost of checking a body, in proportion to parsing it. */
const CHECK_COST = 1 / 3

/** Twice as many as a node returns rows. */
const MIN_MAX_CONTAINERS = 200_000
/** Rows have fewer lists and objects than one in this number of bytes. */
const BYTES_PER_CONTAINER = 32

/**
 * Returns how many lists and objects a body of this length may have. The memory of a parsed value is in proportion to them, and
 * collecting the garbage of a million takes a longer turn than all other work.
 */
function maxContainersOf(length: number): number {
  return MIN_MAX_CONTAINERS + length / BYTES_PER_CONTAINER
}

/** Readers skip white space in one turn. */
const MAX_GAP = 1024 * 1024

/** As `scan`, in several turns of the event loop. `rowsName`: the name of the list of rows in `data`. */
export async function scanInTurns(bytes: Buffer, rowsName?: string): Promise<EnvelopeMembers | undefined> {
  const pieces = scanPieces(bytes, rowsName, BYTES_PER_PIECE)
  for (let rest = bytes.length; ; rest -= BYTES_PER_PIECE) {
    await waitForJsonTurn(Math.min(rest, BYTES_PER_PIECE) * CHECK_COST)
    const piece = pieces.next()
    if (piece.done) return piece.value
  }
}

/** Returns what was found; undefined if the bytes are not JSON, or more than is accepted. */
export function scan(bytes: Buffer): EnvelopeMembers | undefined {
  const { value } = scanPieces(bytes, undefined, Number.POSITIVE_INFINITY).next()
  return value ?? undefined
}

/**
 * What may follow. `first`: an item or the closing bracket. `item`: a name in an object, else a value. `value`: that of a
 * member. `text`: the rest of a text.
 */
type Expected = 'first' | 'item' | 'colon' | 'value' | 'text' | 'after'

/** Yields after each `pieceBytes`. */
function* scanPieces(
  bytes: Buffer,
  rowsName: string | undefined,
  pieceBytes: number,
): Generator<void, EnvelopeMembers | undefined> {
  const found = new EnvelopeMembers(bytes, rowsName)
  /** Of each open bracket: 1 for an object. */
  const objects = new Uint8Array(MAX_DEPTH + 1)
  let depth = 0
  let expected: Expected = 'item'
  let textStart = 0
  let isName = false
  let pieceEnd = pieceBytes
  let gapStart = 0
  let gapEnd = 0
  let containersLeft = maxContainersOf(bytes.length)
  for (let at = 0; at < bytes.length; ) {
    if (at >= pieceEnd) {
      yield
      pieceEnd = at + pieceBytes
    }
    const byte = bytes[at] ?? 0
    const isInObject = objects[depth] === 1
    if (expected === 'text') {
      if (IS_PLAIN[byte] === 1) {
        do at += 1
        while (at < pieceEnd && IS_PLAIN[bytes[at] ?? 0] === 1)
      } else if (byte === BACKSLASH) {
        at = endOfEscape(bytes, at)
        if (at < 0) return undefined
      } else if (byte === QUOTE) {
        at += 1
        if (isName) found.addName(depth, textStart, at)
        else found.endValue(depth, at)
        expected = isName ? 'colon' : 'after'
      } else return undefined
    } else if (IS_SPACE[byte] === 1) {
      if (at !== gapEnd) gapStart = at
      at += 1
      gapEnd = at
      if (at - gapStart > MAX_GAP) return undefined
    } else if (
      depth > 0 &&
      (expected === 'first' || expected === 'after') &&
      byte === (isInObject ? CLOSE : CLOSE_LIST)
    ) {
      at += 1
      depth -= 1
      found.endValue(depth, at)
      expected = 'after'
    } else if (expected === 'after' || expected === 'colon') {
      if (depth === 0 || byte !== (expected === 'after' ? COMMA : COLON)) return undefined
      at += 1
      expected = expected === 'after' ? 'item' : 'value'
    } else {
      isName = isInObject && expected !== 'value'
      if (isName && byte !== QUOTE) return undefined
      if (!isName) found.beginValue(depth, at, byte)
      if (byte === QUOTE) {
        textStart = at
        at += 1
        expected = 'text'
      } else if (byte === OPEN || byte === OPEN_LIST) {
        containersLeft -= 1
        if (depth === MAX_DEPTH || containersLeft < 0) return undefined
        at += 1
        depth += 1
        objects[depth] = byte === OPEN ? 1 : 0
        expected = 'first'
      } else {
        at = endOfScalar(bytes, at)
        if (at < 0) return undefined
        found.endValue(depth, at)
        expected = 'after'
      }
    }
  }
  return depth === 0 && expected === 'after' ? found : undefined
}

/** What a scan finds. The depth is that of the container: 1 for a member of the envelope, 2 for one of `data`, 3 for a row. */
export class EnvelopeMembers {
  /** The members of the envelope and of `data` with a known name. */
  readonly members = new Map<string, ByteRange>()
  readonly dataMembers = new Map<string, ByteRange>()
  /** A known name that the envelope or its `data` has twice. */
  doubled: string | undefined
  rows: Omit<RowRanges, 'total'> | undefined
  readonly #bytes: Buffer
  readonly #rowsName: string
  readonly #names: ReadonlySet<string>
  /** The names of the present member of the envelope, and of its `data`, if they are known ones. */
  #name = ''
  #nameInData = ''
  /** Where the present value of the envelope or of `data` begins, by the depth of its container. */
  readonly #starts = new Uint32Array(3)
  /** Within a member `data` that is an object. */
  #isInData = false
  /** Starts and ends of the rows, within their list. */
  #ranges: Numbers | undefined

  constructor(bytes: Buffer, rowsName = 'items') {
    this.#bytes = bytes
    this.#rowsName = rowsName
    this.#names = new Set([...KNOWN_NAMES, rowsName])
  }

  /** `from` and `to` are those of the text of the name. */
  addName(depth: number, from: number, to: number): void {
    if (depth > 2 || (depth === 2 && !this.#isInData)) return
    const text = this.#readName(from, to)
    const name = this.#names.has(text) ? text : ''
    if (name !== '' && (depth === 2 ? this.dataMembers : this.members).has(name)) this.doubled ??= name
    if (depth === 2) this.#nameInData = name
    else this.#name = name
  }

  /** Returns an empty text for a name that is longer or shorter than all known ones. */
  #readName(from: number, to: number): string {
    if (to - from - 2 > MAX_NAME_BYTES || to - from - 2 < MIN_NAME_BYTES) return ''
    const text = this.#bytes.toString('latin1', from + 1, to - 1)
    return text.includes('\\') ? String(valueIn(this.#bytes, from, to)?.value) : text
  }

  beginValue(depth: number, at: number, byte: number): void {
    if (depth === 3) this.#ranges?.push(at)
    if (depth > 2) return
    this.#starts[depth] = at
    if (depth === 1) this.#isInData = byte === OPEN && this.#name === 'data'
    if (depth === 2 && byte === OPEN_LIST && this.#isInData && this.#nameInData === this.#rowsName)
      this.#ranges = new Numbers()
  }

  endValue(depth: number, to: number): void {
    if (depth === 3) this.#ranges?.push(to)
    if (depth > 2) return
    const range = { from: this.#starts[depth] ?? 0, to }
    if (depth === 2 && this.#isInData) {
      if (this.#nameInData !== '') this.dataMembers.set(this.#nameInData, range)
      if (this.#ranges === undefined) return
      this.rows = { from: range.from + 1, to: to - 1, ranges: this.#ranges.toArray() }
      this.#ranges = undefined
    } else if (depth === 1) {
      if (this.#name !== '') this.members.set(this.#name, range)
      this.#name = ''
      this.#isInData = false
    }
  }
}
