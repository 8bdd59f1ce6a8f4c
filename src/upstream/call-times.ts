/** How long calls take on one node: the usual time of each endpoint, and the waiting times that follow from the average. */

/** Weight of the latest call in the usual time. */
const LATENCY_WEIGHT = 1 / 16
/** A single call counts at most as this multiple of the usual time. */
const MAX_LATENCY_FACTOR = 2

/** On the same idle node one endpoint takes 0.2 s and another 16 s, so each endpoint has a usual time of its own. */
export class EndpointTimes {
  /** By endpoint template, so bounded by the catalogue. */
  readonly #usual = new Map<string, number>()

  /** Returns the usual milliseconds of a call; `undefined` before the first answer. */
  usual(endpoint: string): number | undefined {
    return this.#usual.get(endpoint)
  }

  record(endpoint: string, elapsed: number): void {
    const usual = this.#usual.get(endpoint) ?? elapsed
    const bounded = Math.min(elapsed, usual * MAX_LATENCY_FACTOR)
    this.#usual.set(endpoint, Math.max(1, usual + (bounded - usual) * LATENCY_WEIGHT))
  }

  /** Records that a call without an answer would have taken at least this long. */
  recordAtLeast(endpoint: string, elapsed: number): void {
    if (elapsed > (this.#usual.get(endpoint) ?? elapsed)) this.record(endpoint, elapsed)
  }
}

/** Weights of the latest call in the average. Recovery is adopted faster than a slowdown. */
const SLOWER_WEIGHT = 0.2
const FASTER_WEIGHT = 0.5
/** The estimate is rough, so clients are never asked to wait longer than this. */
const MAX_RETRY_AFTER_SECONDS = 30

/** The moving average of the time that a call takes on the node, and the waiting times that follow from it. */
export class ServiceTime {
  #average = 0

  /** Milliseconds; 0 before the first call. */
  get average(): number {
    return this.#average
  }

  /** Records that a call took `elapsed` milliseconds. */
  record(elapsed: number): void {
    const before = this.#average
    const weight = elapsed > before ? SLOWER_WEIGHT : FASTER_WEIGHT
    this.#average = before === 0 ? elapsed : before + (elapsed - before) * weight
  }

  /** Returns the milliseconds until a call with `ahead` calls before it can start. */
  waitFor(ahead: number, slots: number): number {
    return ((ahead + 1) * this.#average) / slots
  }

  /** Returns the value of Retry-After, in whole seconds. */
  retryAfter(ahead: number, slots: number): number {
    return Math.min(MAX_RETRY_AFTER_SECONDS, Math.max(1, Math.ceil(this.waitFor(ahead, slots) / 1000)))
  }
}
