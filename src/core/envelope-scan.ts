/**
 * Checks the bytes of one response against the grammar of JSON (RFC 8259) in pieces, so that a long one need not be checked
 * in one turn of the event loop, and finds the members and the rows of its envelope. It accepts what `JSON.parse` accepts,
 * but nothing that is nested more deeply than `MAX_DEPTH`.
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
  MAX_DEPTH,
  OPEN,
  OPEN_LIST,
  QUOTE,
  valueIn,
} from './json-scan.ts'
import type { RowRanges } from './response.ts'

export interface ByteRange {
  readonly from: number
  readonly to: number
}

/** What may follow. `first…`: or the closing bracket. `text…`: within a text, which a piece has cut. */
type State = 'value' | 'firstValue' | 'name' | 'firstName' | 'colon' | 'after' | 'textOfName' | 'textOfValue'

const IS_SPACE = Uint8Array.from({ length: 256 }, (_, byte) => ('\t\n\r '.includes(String.fromCharCode(byte)) ? 1 : 0))
/** Members that no response may have twice: clients take the last one, and the edge acts on one. */
const KNOWN_NAMES = ['error', 'data', 'message', 'items', 'totalItems', 'affected_items', 'total_affected_items']
/** Each character of a name may be an escape of six. */
const MAX_NAME_BYTES = 6 * Math.max(...KNOWN_NAMES.map(({ length }) => length))
const MIN_NAME_BYTES = Math.min(...KNOWN_NAMES.map(({ length }) => length))
const INITIAL_RANGES = 1024

export class EnvelopeScan {
  readonly #bytes: Buffer
  /** The name of the list of rows in `data`. */
  readonly #rowsName: string
  readonly #names: ReadonlySet<string>
  #at = 0
  #depth = 0
  #state: State = 'value'
  /** Of each open bracket: 1 for an object. */
  readonly #isObject = new Uint8Array(MAX_DEPTH + 1)
  #textStart = 0
  /** The present member of the envelope, and of its `data`. */
  #name = ''
  #nameInData = ''
  /** Where the present value of the envelope or of `data` begins, by the depth of its container. */
  readonly #starts = new Uint32Array(4)
  #isInRows = false
  #ranges = new Uint32Array(INITIAL_RANGES)
  #rangeCount = 0

  /** The members of the envelope and of `data` with a known name. Empty: the value is no object. */
  readonly members = new Map<string, ByteRange>()
  readonly dataMembers = new Map<string, ByteRange>()
  /** A known name that the envelope or its `data` has twice. */
  doubled: string | undefined
  rows: Omit<RowRanges, 'total'> | undefined
  /** `invalid`: not JSON, or nested too deeply. */
  outcome: 'unfinished' | 'valid' | 'invalid' = 'unfinished'

  constructor(bytes: Buffer, rowsName = 'items') {
    this.#bytes = bytes
    this.#rowsName = rowsName
    this.#names = new Set([...KNOWN_NAMES, rowsName])
  }

  /** Scans about this many bytes more. Returns whether the end is reached. */
  advance(count: number): boolean {
    const end = Math.min(this.#bytes.length, this.#at + count)
    while (this.outcome === 'unfinished' && this.#at < end) this.#step(end)
    if (this.outcome === 'unfinished' && this.#at >= this.#bytes.length)
      this.outcome = this.#isComplete ? 'valid' : 'invalid'
    return this.outcome !== 'unfinished'
  }

  get #isComplete(): boolean {
    return this.#depth === 0 && this.#state === 'after'
  }

  #step(end: number): void {
    const byte = this.#bytes[this.#at] ?? 0
    const state = this.#state
    if (state === 'textOfName' || state === 'textOfValue') this.#continueText(end)
    else if (IS_SPACE[byte] === 1) this.#at += 1
    else if (state === 'after') this.#stepAfter(byte)
    else if (state === 'value' || state === 'firstValue') {
      if (byte === CLOSE_LIST && state === 'firstValue') this.#close()
      else this.#beginValue(byte)
    } else if (state === 'colon' && byte === COLON) this.#accept('value')
    else if (state === 'firstName' && byte === CLOSE) this.#close()
    else if (state !== 'colon' && byte === QUOTE) this.#beginText('textOfName')
    else this.#fail()
  }

  #accept(state: State): void {
    this.#at += 1
    this.#state = state
  }

  #fail(): void {
    this.outcome = 'invalid'
  }

  #stepAfter(byte: number): void {
    const isObject = this.#isObject[this.#depth] === 1
    if (this.#depth === 0) this.#fail()
    else if (byte === COMMA) this.#accept(isObject ? 'name' : 'value')
    else if (byte === (isObject ? CLOSE : CLOSE_LIST)) this.#close()
    else this.#fail()
  }

  #beginValue(byte: number): void {
    if (this.#depth <= 3) this.#noteBegin(byte)
    if (byte === QUOTE) this.#beginText('textOfValue')
    else if (byte === OPEN || byte === OPEN_LIST) this.#open(byte)
    else {
      this.#at = endOfScalar(this.#bytes, this.#at)
      if (this.#at < 0) this.#fail()
      else this.#endValue()
    }
  }

  #open(byte: number): void {
    if (this.#depth < MAX_DEPTH) {
      this.#depth += 1
      this.#isObject[this.#depth] = byte === OPEN ? 1 : 0
      this.#accept(byte === OPEN ? 'firstName' : 'firstValue')
    } else this.#fail()
  }

  #close(): void {
    this.#at += 1
    this.#depth -= 1
    this.#endValue()
  }

  #endValue(): void {
    this.#state = 'after'
    if (this.#depth <= 3) this.#noteEnd()
  }

  #beginText(state: 'textOfName' | 'textOfValue'): void {
    this.#textStart = this.#at
    this.#accept(state)
  }

  #continueText(end: number): void {
    const bytes = this.#bytes
    let at = this.#at
    while (at < end && IS_PLAIN[bytes[at] ?? 0] === 1) at++
    this.#at = at
    if (at >= end) return
    if (bytes[at] === BACKSLASH) {
      const next = endOfEscape(bytes, at)
      if (next < 0) this.#fail()
      else this.#at = next
    } else if (bytes[at] === QUOTE) this.#endText()
    else this.#fail()
  }

  #endText(): void {
    this.#at += 1
    if (this.#state === 'textOfValue') this.#endValue()
    else {
      this.#state = 'colon'
      if (this.#depth <= 2) this.#noteName()
    }
  }

  #noteName(): void {
    const isOfData = this.#depth === 2
    if (isOfData && !this.#hasDataObject) return
    const name = this.#readName()
    const isKnown = name !== undefined && this.#names.has(name)
    if (isKnown && (isOfData ? this.dataMembers : this.members).has(name)) this.doubled ??= name
    if (isOfData) this.#nameInData = isKnown ? name : ''
    else this.#name = isKnown ? name : ''
  }

  /** Returns the name that ends here; `undefined` for one that is longer or shorter than all known ones. */
  #readName(): string | undefined {
    const [from, to] = [this.#textStart + 1, this.#at - 1]
    if (to - from > MAX_NAME_BYTES || to - from < MIN_NAME_BYTES) return undefined
    const text = this.#bytes.toString('latin1', from, to)
    return text.includes('\\') ? String(valueIn(this.#bytes, from - 1, to + 1)?.value) : text
  }

  /** The depth is that of the container: 1 for a member of the envelope, 2 for one of `data`, 3 for a row. */
  #noteBegin(byte: number): void {
    if (this.#depth === 3) {
      if (this.#isInRows) this.#addToRanges(this.#at)
      return
    }
    this.#starts[this.#depth] = this.#at
    if (this.#depth !== 2 || byte !== OPEN_LIST || this.#nameInData !== this.#rowsName || !this.#hasDataObject) return
    this.#isInRows = true
    this.#rangeCount = 0
  }

  #noteEnd(): void {
    const range = { from: this.#starts[this.#depth] ?? 0, to: this.#at }
    if (this.#depth === 3) {
      if (this.#isInRows) this.#addToRanges(this.#at)
    } else if (this.#depth === 2 && this.#hasDataObject) {
      if (this.#nameInData !== '') this.dataMembers.set(this.#nameInData, range)
      if (!this.#isInRows) return
      this.#isInRows = false
      // A copy: the list has room for more, and the ranges may be held as long as the body.
      const ranges = this.#ranges.slice(0, this.#rangeCount)
      this.rows = { from: range.from + 1, to: range.to - 1, ranges }
    } else if (this.#depth === 1 && this.#isObject[1] === 1) {
      if (this.#name !== '') this.members.set(this.#name, range)
      this.#name = ''
    }
  }

  /** Whether the present place is within a member `data` that is an object. */
  get #hasDataObject(): boolean {
    return this.#isObject[1] === 1 && this.#isObject[2] === 1 && this.#name === 'data'
  }

  #addToRanges(at: number): void {
    if (this.#rangeCount === this.#ranges.length) {
      const larger = new Uint32Array(2 * this.#ranges.length)
      larger.set(this.#ranges)
      this.#ranges = larger
    }
    this.#ranges[this.#rangeCount] = at
    this.#rangeCount += 1
  }
}
