/** One direction of a connection through the fault proxy. */

/** What a link does to the bytes of one direction. All absent: nothing. */
export interface Impairment {
  /** Milliseconds that each chunk takes. */
  readonly delay?: number
  /** A random time up to this many milliseconds in addition, drawn for each chunk. */
  readonly jitter?: number
  /** Share of the chunks that are lost. TCP sends them again, so they arrive late. 1: nothing arrives while it lasts. */
  readonly loss?: number
}

/** Time until TCP sends a lost segment again. It doubles with each loss of the same segment. */
const RETRANSMISSION_MS = 200

/**
 * Runs deliveries in the order in which they were added, each at its time. A chunk that is late delays all chunks behind
 * it, as TCP does.
 */
export class Lane {
  #queue: { dueAt: number; readonly deliver: () => void }[] = []
  #timer: NodeJS.Timeout | undefined
  #lastDueAt = 0

  /** Adds a delivery, `ms` milliseconds after the one before it with `after`. Returns whether it has to wait. */
  add(deliver: () => void, ms = 0, after: 'now' | 'last' = 'now'): boolean {
    const now = performance.now()
    const from = after === 'last' ? Math.max(now, this.#lastDueAt) : now
    this.#lastDueAt = Math.max(this.#lastDueAt, from + ms)
    if (this.#queue.length === 0 && this.#lastDueAt <= now) {
      deliver()
      return false
    }
    this.#queue.push({ dueAt: this.#lastDueAt, deliver })
    if (this.#queue.length === 1) this.#schedule()
    return true
  }

  /** The link works again: what was lost is delivered now. What is on its way arrives at its time. */
  retransmit(): void {
    const now = performance.now()
    for (const each of this.#queue) if (each.dueAt === Number.POSITIVE_INFINITY) each.dueAt = now
    this.#lastDueAt = Math.max(0, ...this.#queue.map(({ dueAt }) => dueAt))
    this.#schedule()
  }

  clear(): void {
    clearTimeout(this.#timer)
    this.#queue = []
    this.#lastDueAt = 0
  }

  #schedule(): void {
    clearTimeout(this.#timer)
    const [first] = this.#queue
    if (first === undefined || first.dueAt === Number.POSITIVE_INFINITY) return
    this.#timer = setTimeout(() => this.#deliverDue(), Math.max(0, first.dueAt - performance.now()))
  }

  #deliverDue(): void {
    const now = performance.now()
    for (let first = this.#queue[0]; first !== undefined && first.dueAt <= now; first = this.#queue[0]) {
      this.#queue.shift()
      first.deliver()
    }
    this.#schedule()
  }
}

/** Draws the milliseconds that one chunk takes; infinite if it is lost until the link works again. */
export function drawDelay({ delay = 0, jitter = 0, loss = 0 }: Impairment): number {
  if (loss >= 1) return Number.POSITIVE_INFINITY
  let ms = delay + Math.random() * jitter
  for (let timeout = RETRANSMISSION_MS; Math.random() < loss; timeout *= 2) ms += timeout
  return ms
}
