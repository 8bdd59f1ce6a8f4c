/**
 * How many calls at once a node is trusted with: between 1 and a ceiling. Each answer adds one call per round. What
 * cuts:
 *
 * - strain, a call that timed out or was dropped by the node, halves (as TCP does). After a time-out the node still
 *   works on the call that was given up; halving makes room for that work.
 * - a slowdown of the whole node cuts by its gradient, at most by half, long before calls time out. A node that
 *   shares one processor among n calls takes n times as long for each and loses nothing by it, so only what is
 *   slower than that counts (`slowdown.ts` says what is compared).
 */

export class AdaptiveLimit {
  readonly #ceiling: number
  #value: number
  #cutAt = Number.NEGATIVE_INFINITY

  constructor(ceiling: number) {
    this.#ceiling = ceiling
    this.#value = ceiling
  }

  get value(): number {
    return Math.floor(this.#value)
  }

  answered(): void {
    this.#value = Math.min(this.#ceiling, this.#value + 1 / this.#value)
  }

  strained(began: number, now: number): void {
    this.#cut(0.5, began, now)
  }

  /** An answer that took longer than usual, as others did. Gives true where that cuts the limit. */
  answeredIn({ own, shared }: Factors, began: number, now: number): boolean {
    const borne = Math.max(2, this.value)
    if (shared > borne) return this.#cut(Math.max(0.5, borne / shared), began, now)
    if (own <= borne) this.answered()
    return false
  }

  /** One cut for one round: calls that began before the latest cut tell the same news again. */
  #cut(by: number, began: number, now: number): boolean {
    if (began < this.#cutAt) return false
    this.#cutAt = now
    this.#value = Math.max(1, this.#value * by)
    return true
  }
}

/**
 * Is everything on a node slower than usual? Latency as such says nothing: one endpoint takes 0.2 s and another 16 s
 * on the same idle node (contract/wire.md), and a mixture that shifts looks like a node in trouble. So each call is
 * held against the usual time of its own endpoint, and only what nearly all recent calls of several endpoints share
 * is the node's doing.
 */

const WINDOW = 8
const QUARTER = WINDOW / 4
const ENDPOINTS = 3
/** The usual time follows slowly, and no single call more than doubles what is believed. */
const WEIGHT = 1 / 16
const LEAP = 2

/** How many times longer than usual: this call, and three quarters of the recent ones at the least; 1 while unknown. */
export interface Factors {
  readonly own: number
  readonly shared: number
}

interface Seen {
  readonly endpoint: string
  readonly factor: number
}

export class Slowdown {
  /** By endpoint, of which there are as many as the catalogue has records. */
  readonly #usual = new Map<string, number>()
  #recent: Seen[] = []

  /** Milliseconds that a call of this endpoint takes; absent while none has answered. */
  usual(endpoint: string): number | undefined {
    return this.#usual.get(endpoint)
  }

  observe(endpoint: string, took: number): Factors {
    const usual = this.#usual.get(endpoint)
    if (usual === undefined) {
      this.#usual.set(endpoint, Math.max(1, took))
      return { own: 1, shared: 1 }
    }
    this.#usual.set(endpoint, Math.max(1, usual + (Math.min(took, usual * LEAP) - usual) * WEIGHT))
    this.#recent = [...this.#recent.slice(1 - WINDOW), { endpoint, factor: took / usual }]
    return { own: took / usual, shared: this.#shared() }
  }

  /** What was seen so far has been acted upon. */
  forget(): void {
    this.#recent = []
  }

  #shared(): number {
    if (this.#recent.length < WINDOW) return 1
    const slowest = this.#recent.toSorted((a, b) => a.factor - b.factor).slice(QUARTER)
    const endpoints = new Set(slowest.map((seen) => seen.endpoint))
    return endpoints.size < ENDPOINTS ? 1 : (slowest[0]?.factor ?? 1)
  }
}
