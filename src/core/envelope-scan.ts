/**
 * Checks the bytes of one response against the grammar of JSON (RFC 8259) in pieces, so that a long one need not be checked
 * in one turn of the event loop, and finds the members and the rows of its envelope. It accepts what `JSON.parse` accepts,
 * but nothing that is nested more deeply than `MAX_DEPTH`, has more lists and objects than rows have (`MIN_MAX_CONTAINERS`), or
 * longer white space than `MAX_GAP`.
 */
import { EnvelopeMembers } from './envelope-members.ts'
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
} from './json-scan.ts'
import { type CooperativeTask, waitForJsonTurn } from './turns.ts'

/** Bytes that are checked in one turn of the event loop. Hostile ones, of brackets alone, take about two milliseconds. */
const BYTES_PER_PIECE = 64 * 1024
/** The cost of checking a body, in proportion to parsing it. */
const CHECK_COST = 1 / 3

/**
 * A body may have 200,000 lists and objects, twice as many as a node returns rows, and one more for each 32 bytes: rows have
 * fewer. The memory of a parsed value is in proportion to them, and collecting the garbage of a million takes a longer turn
 * than all other work.
 */
const MIN_MAX_CONTAINERS = 200_000
const BYTES_PER_CONTAINER = 32

/** Readers skip white space in one turn. */
const MAX_GAP = 1024 * 1024

/**
 * Returns what was found; undefined if the bytes are not JSON, or more than is accepted. `rowsName`: the name of the list of rows
 * in `data`.
 */
export function* scanEnvelope(bytes: Buffer, rowsName?: string): CooperativeTask<EnvelopeMembers | undefined> {
  const scanner = new EnvelopeScanner(bytes, rowsName)
  let end = 0
  do {
    const length = Math.min(bytes.length - end, BYTES_PER_PIECE)
    const turn = waitForJsonTurn(length * CHECK_COST)
    if (turn !== undefined) yield turn
    end += length
    if (!scanner.readTo(end)) return undefined
  } while (end < bytes.length)
  return scanner.members
}

/**
 * What may follow. `first`: an item or the closing bracket. `item`: a name in an object, else a value. `value`: that of a
 * member. `text`: the rest of a text.
 */
type Expected = 'first' | 'item' | 'colon' | 'value' | 'text' | 'after'

/** Reads bytes from their beginning, piece by piece. */
class EnvelopeScanner {
  readonly #bytes: Buffer
  readonly members: EnvelopeMembers
  /** Of each open bracket: 1 for an object. */
  readonly #objects = new Uint8Array(MAX_DEPTH + 1)
  #at = 0
  #depth = 0
  #expected: Expected = 'item'
  #textStart = 0
  #isName = false
  #gapStart = 0
  #gapEnd = 0
  #containersLeft: number

  constructor(bytes: Buffer, rowsName?: string) {
    this.#bytes = bytes
    this.members = new EnvelopeMembers(bytes, rowsName)
    this.#containersLeft = MIN_MAX_CONTAINERS + bytes.length / BYTES_PER_CONTAINER
  }

  /**
   * Reads up to this place, or somewhat further. Returns whether the bytes are accepted so far; at the end of all, whether they
   * are one value.
   */
  readTo(end: number): boolean {
    while (this.#at < end) {
      const byte = this.#bytes[this.#at] ?? 0
      if (this.#expected === 'text') {
        if (!this.#readText(byte, end)) return false
      } else if (IS_SPACE[byte] === 1) {
        if (this.#at !== this.#gapEnd) this.#gapStart = this.#at
        this.#at += 1
        this.#gapEnd = this.#at
        if (this.#at - this.#gapStart > MAX_GAP) return false
      } else if (!this.#readToken(byte)) return false
    }
    return end < this.#bytes.length || (this.#depth === 0 && this.#expected === 'after')
  }

  #readText(byte: number, end: number): boolean {
    const bytes = this.#bytes
    let at = this.#at
    if (IS_PLAIN[byte] === 1) {
      do at += 1
      while (at < end && IS_PLAIN[bytes[at] ?? 0] === 1)
    } else if (byte === BACKSLASH) {
      at = endOfEscape(bytes, at)
      if (at < 0) return false
    } else if (byte === QUOTE) {
      at += 1
      if (this.#isName) this.members.addName(this.#depth, this.#textStart, at)
      else this.members.endValue(this.#depth, at)
      this.#expected = this.#isName ? 'colon' : 'after'
    } else return false
    this.#at = at
    return true
  }

  #readToken(byte: number): boolean {
    const at = this.#at
    const expected = this.#expected
    const isInObject = this.#objects[this.#depth] === 1
    const mayClose = this.#depth > 0 && (expected === 'first' || expected === 'after')
    let end = at + 1
    if (mayClose && byte === (isInObject ? CLOSE : CLOSE_LIST)) this.#depth -= 1
    else if (expected === 'after' || expected === 'colon') {
      this.#at = end
      this.#expected = expected === 'after' ? 'item' : 'value'
      return this.#depth > 0 && byte === (expected === 'after' ? COMMA : COLON)
    } else {
      this.#isName = isInObject && expected !== 'value'
      if (this.#isName && byte !== QUOTE) return false
      if (!this.#isName) this.members.beginValue(this.#depth, at, byte)
      if (byte === QUOTE) {
        this.#textStart = at
        this.#at = end
        this.#expected = 'text'
        return true
      }
      if (byte === OPEN || byte === OPEN_LIST) return this.#open(byte)
      end = endOfScalar(this.#bytes, at)
      if (end < 0) return false
    }
    this.members.endValue(this.#depth, end)
    this.#at = end
    this.#expected = 'after'
    return true
  }

  #open(bracket: number): boolean {
    this.#containersLeft -= 1
    if (this.#depth === MAX_DEPTH || this.#containersLeft < 0) return false
    this.#at += 1
    this.#depth += 1
    this.#objects[this.#depth] = bracket === OPEN ? 1 : 0
    this.#expected = 'first'
    return true
  }
}
