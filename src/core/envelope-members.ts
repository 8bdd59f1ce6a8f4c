/** The members and the rows of an envelope, as a scan of its bytes finds them. */
import { OPEN, OPEN_LIST, valueIn } from './json-scan.ts'
import type { RowRanges } from './response.ts'
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
