/**
 * The adaptive limit of concurrent calls to one node, between 1 and a maximum. Each successful call raises it by one
 * call per round. It is lowered by:
 *
 * - overload: a call that timed out or was dropped by the node halves the limit, as TCP does. After a timeout the node
 *   still works on the abandoned call; the lower limit leaves room for that work.
 * - a slowdown of the whole node: the limit is divided by the excess of the slowdown, at most by two, long before calls
 *   time out. A node that shares one processor among n calls takes n times as long for each and loses no throughput, so
 *   only a slowdown beyond the number of concurrent calls counts.
 */

/** How many times longer than expected calls took; 1 while unknown. */
interface LatencyRatio {
  /** This call. */
  readonly own: number
  /** The least slowed of the slowest three quarters of the recent calls. */
  readonly shared: number
}

export class AdaptiveLimit {
  #max: number
  #value: number
  #lastCut = Number.NEGATIVE_INFINITY

  constructor(max: number) {
    this.#max = max
    this.#value = max
  }

  get value(): number {
    return Math.floor(this.#value)
  }

  /** A limit that was never lowered takes the new maximum at once; else it grows with successful calls. */
  setMax(max: number): void {
    this.#value = this.#value === this.#max ? max : Math.min(this.#value, max)
    this.#max = max
  }

  recordSuccess(): void {
    this.#value = Math.min(this.#max, this.#value + 1 / this.#value)
  }

  recordOverload(start: number, now: number): void {
    this.#cut(0.5, start, now)
  }

  /** Records a success with its latency. Returns whether the limit was lowered. */
  recordLatency({ own, shared }: LatencyRatio, start: number, now: number): boolean {
    const tolerated = Math.max(2, this.value)
    if (shared > tolerated) return this.#cut(Math.max(0.5, tolerated / shared), start, now)
    if (own <= tolerated) this.recordSuccess()
    return false
  }

  /** Lowers the limit once per round: calls that began before the latest cut report the same condition again. */
  #cut(factor: number, start: number, now: number): boolean {
    if (start < this.#lastCut) return false
    this.#lastCut = now
    this.#value = Math.max(1, this.#value * factor)
    return true
  }
}

const WINDOW_CALLS = 8
const IGNORED_CALLS = WINDOW_CALLS / 4
const MIN_ENDPOINTS = 3
/** Weight of the latest call in the expected time. */
const LATENCY_WEIGHT = 1 / 16
/** A single call counts at most as this multiple of the expected time. */
const MAX_LATENCY_FACTOR = 2

interface RecentCall {
  readonly endpoint: string
  readonly ratio: number
}

/**
 * The expected latency of each endpoint. Absolute latency is no measure of load: on the same idle node one endpoint takes 0.2 s
 * and another 16 s, and a changing mixture looks like a slow node. So each call is compared with earlier calls of its
 * endpoint, and only a slowdown that nearly all recent calls of several endpoints share is attributed to the node.
 */
export class LatencyBaseline {
  /** By endpoint template, so bounded by the catalogue. */
  readonly #expected = new Map<string, number>()
  #recent: RecentCall[] = []

  /** Returns the expected milliseconds of a call; `undefined` before the first success. */
  expected(endpoint: string): number | undefined {
    return this.#expected.get(endpoint)
  }

  /** Records the latency of a successful call and returns its ratio to the baseline. */
  record(endpoint: string, elapsed: number): LatencyRatio {
    const expected = this.#expected.get(endpoint)
    if (expected === undefined) {
      this.#expected.set(endpoint, Math.max(1, elapsed))
      return { own: 1, shared: 1 }
    }
    const bounded = Math.min(elapsed, expected * MAX_LATENCY_FACTOR)
    this.#expected.set(endpoint, Math.max(1, expected + (bounded - expected) * LATENCY_WEIGHT))
    this.#recent = [...this.#recent.slice(1 - WINDOW_CALLS), { endpoint, ratio: elapsed / expected }]
    return { own: elapsed / expected, shared: this.#sharedRatio() }
  }

  /** Discards the recent calls, because the limit was lowered for them. */
  discardRecent(): void {
    this.#recent = []
  }

  #sharedRatio(): number {
    if (this.#recent.length < WINDOW_CALLS) return 1
    const slowest = this.#recent.toSorted((a, b) => a.ratio - b.ratio).slice(IGNORED_CALLS)
    const endpoints = new Set(slowest.map(({ endpoint }) => endpoint))
    return endpoints.size < MIN_ENDPOINTS ? 1 : (slowest[0]?.ratio ?? 1)
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
