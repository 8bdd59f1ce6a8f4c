/**
 * The bytes of one answer. They are copied together as they come: a node that sends a byte at a time would
 * otherwise cost a hundred bytes of bookkeeping for each, and the cap on the answer would cap nothing.
 */
const FIRST = 16 * 1024
/** A Content-Length is believed up to here; beyond it, room is made as bytes come. */
const BELIEVED = 1024 * 1024

export class Collected {
  #room: Buffer
  #length = 0

  constructor(announced: number | undefined) {
    this.#room = Buffer.allocUnsafeSlow(Math.min(announced ?? FIRST, BELIEVED))
  }

  add(chunk: Buffer): void {
    const needed = this.#length + chunk.length
    if (needed > this.#room.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#room.length * 2))
      this.#room.copy(larger, 0, 0, this.#length)
      this.#room = larger
    }
    this.#length += chunk.copy(this.#room, this.#length)
  }

  /** Exactly as large as the answer: one that is kept would keep the spare room as well. */
  bytes(): Buffer {
    if (this.#length === this.#room.length) return this.#room
    const exact = Buffer.allocUnsafeSlow(this.#length)
    this.#room.copy(exact, 0, 0, this.#length)
    return exact
  }
}
