/** A limit on work at once: what is beyond it waits, first come first served. */
import type { NodeCall } from '../core/node-call.ts'
import { withTimeout } from '../core/timing.ts'

/** The caller of `end` must be done with its work. */
export type Turn =
  | { readonly ok: true; end(): void }
  | { readonly ok: false; readonly fault: 'overloaded' | 'cancelled' }

export class Turns {
  readonly #limit: () => number
  readonly #waiting: (() => void)[] = []
  #running = 0

  /** `limit`: read for each turn. */
  constructor(limit: () => number) {
    this.#limit = limit
  }

  /** Waits for a turn, at most until the timeout of the call or until its client disconnects. */
  async take({ timeout, signal }: Pick<NodeCall, 'timeout' | 'signal'>): Promise<Turn> {
    if (this.#running >= this.#limit()) {
      let start: () => void = () => undefined
      const started = new Promise<'started'>((resolve) => {
        start = () => resolve('started')
      })
      this.#waiting.push(start)
      const outcome = await withTimeout(started, timeout ?? Number.POSITIVE_INFINITY, 'late', signal).catch(
        () => 'cancelled' as const,
      )
      if (outcome !== 'started') {
        const at = this.#waiting.indexOf(start)
        if (at >= 0) this.#waiting.splice(at, 1)
        // Its turn came at the same moment: the next one has it.
        else this.#end()
        return { ok: false, fault: outcome === 'late' ? 'overloaded' : 'cancelled' }
      }
    } else this.#running += 1
    return { ok: true, end: () => this.#end() }
  }

  /** Passes the turn on. */
  #end(): void {
    const next = this.#running <= this.#limit() ? this.#waiting.shift() : undefined
    if (next === undefined) this.#running -= 1
    else next()
  }
}
