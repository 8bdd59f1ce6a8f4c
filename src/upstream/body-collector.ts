import { concatOwn } from '../core/long-values.ts'

const MIN_BLOCK_BYTES = 16 * 1024
const MAX_BLOCK_BYTES = 1024 * 1024

/**
 * Collects a body in blocks. A list of chunks would cost a hundred bytes of bookkeeping for each: a node that sends
 * single bytes could exceed the limit on the response a hundredfold.
 */
export class BodyCollector {
  readonly #full: Buffer[] = []
  #block: Buffer
  /** Bytes of the block that are used. */
  #used = 0

  /** A Content-Length is trusted up to the size of a block. */
  constructor(contentLength = MIN_BLOCK_BYTES) {
    this.#block = Buffer.allocUnsafeSlow(Math.min(contentLength, MAX_BLOCK_BYTES))
  }

  append(chunk: Buffer): void {
    for (let at = 0; at < chunk.length; ) {
      if (this.#used === this.#block.length) this.#addBlock()
      const copied = chunk.copy(this.#block, this.#used, at)
      this.#used += copied
      at += copied
    }
  }

  #addBlock(): void {
    this.#full.push(this.#block)
    const bytes = Math.max(MIN_BLOCK_BYTES, 2 * this.#block.length)
    this.#block = Buffer.allocUnsafeSlow(Math.min(bytes, MAX_BLOCK_BYTES))
    this.#used = 0
  }

  /** Returns the body in a buffer of exactly its size, because the cache would also store unused capacity. */
  bytes(): Buffer | Promise<Buffer> {
    if (this.#full.length === 0 && this.#used === this.#block.length) return this.#block
    return concatOwn([...this.#full, this.#block.subarray(0, this.#used)])
  }
}
