/** The parts in which all rows of a collection are stored. */

/** Parsing or printing this number of bytes takes about a millisecond. */
export const BYTES_PER_PART = 64 * 1024

const START = Buffer.from('[')
/** Between rows. Rows themselves have no newline, so their ends are found without parsing them. */
const SEPARATOR = Buffer.from(',\n')
const END = Buffer.from(']')

/**
 * Writes all rows of a collection in parts: JSON lists of some rows each. To copy or to parse one text of all rows
 * would block the event loop.
 */
export class PartWriter {
  readonly #parts: Buffer[] = []
  /** Of the part that is not complete. */
  #chunks: Buffer[] = []
  #length = 0
  #bytes = 0

  /** The bytes of all rows so far. */
  get bytes(): number {
    return this.#bytes + this.#length
  }

  /** Adds the JSON text of one row. */
  add(row: Buffer): void {
    const before = this.#chunks.length === 0 ? START : SEPARATOR
    this.#chunks.push(before, row)
    this.#length += before.length + row.length
    if (this.#length >= BYTES_PER_PART) this.#endPart()
  }

  #endPart(): void {
    const part = Buffer.concat([...this.#chunks, END])
    this.#parts.push(part)
    this.#bytes += part.length
    this.#chunks = []
    this.#length = 0
  }

  end(): readonly Buffer[] {
    if (this.#chunks.length > 0) this.#endPart()
    return this.#parts
  }
}
