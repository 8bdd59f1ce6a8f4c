/** The end of a turn of the event loop, at which the commands to Redis of all requests of the turn are sent together. */
import type { Writable } from 'node:stream'

export class TurnEnd {
  #batches: (() => void)[] = []
  #streams: Writable[] = []
  #isScheduled = false

  /**
   * Calls `send` when all requests of this turn have arrived, and resolves to its result. What it sends is in the writes of
   * this turn. If it throws, only its own callers get the error: the other batches are sent.
   */
  add<Result>(send: () => Promise<Result>): Promise<Result> {
    this.#schedule()
    return new Promise((resolve, reject) => {
      this.#batches.push(() => {
        try {
          resolve(send())
        } catch (error) {
          reject(error)
        }
      })
    })
  }

  /** What is written to the stream in this turn is one write: each write costs more than a command. */
  writeOnce(stream: Writable): void {
    if (stream.writableCorked > 0) return
    stream.cork()
    this.#streams.push(stream)
    this.#schedule()
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => this.#end())
  }

  #end(): void {
    // A batch may add another one.
    for (let at = 0; at < this.#batches.length; at += 1) this.#batches[at]?.()
    const streams = this.#streams
    this.#batches = []
    this.#streams = []
    this.#isScheduled = false
    for (const stream of streams) stream.uncork()
  }
}
