/** Simulates a limiter with a virtual clock: arrivals, calls of known duration, deadlines. No real time passes. */
import type { ClientFlow } from '../../../src/core/node-call.ts'
import type { Deadline } from '../../../src/core/timing.ts'
import type { LimitedCall } from '../../../src/upstream/flows.ts'
import { ConcurrencyLimiter } from '../../../src/upstream/limiter.ts'
import type { Acquisition } from '../../../src/upstream/limiter-parts.ts'

export interface Arrival extends Partial<LimitedCall> {
  readonly at: number
  readonly priority: LimitedCall['priority']
  /** Milliseconds on the node. */
  readonly takes: number
  readonly timeout?: number
}

export interface Result {
  readonly arrival: Arrival
  readonly acquisition: Acquisition
  /** Milliseconds until the call had a slot or was rejected. */
  readonly waited: number
}

/** The result of each arrival, in order of arrival. */
export interface Report {
  readonly results: readonly Result[]
  /** Greatest number of calls in flight. */
  readonly maxInFlight: number
  /** Time of the last event. */
  readonly end: number
}

const limits = { inFlight: 4, queue: 256 }

/** Creates the limiter of a node that a process shares with no other, and that has no limit of calls per minute. */
export function createLimiter(limitsOf: () => typeof limits, clock: () => number): ConcurrencyLimiter {
  const limits = () => ({ timeout: 20_000, ...limitsOf() })
  return new ConcurrencyLimiter('node', undefined, { limits, clock, budget: () => undefined })
}

export async function run(arrivals: readonly Arrival[], overrides: Partial<typeof limits> = {}): Promise<Report> {
  let now = 0
  let maxInFlight = 0
  const limiter = createLimiter(
    () => ({ ...limits, ...overrides }),
    () => now,
  )
  const agenda = new Agenda()
  const results: Result[] = []
  const arrive = (arrival: Arrival, index: number) => async () => {
    const { at, takes, timeout = 20_000 } = arrival
    const call: LimitedCall = { caller: 'ann', endpoint: 'GET /agents', ...arrival }
    const deadline = deadlineIn(timeout, () => now, agenda)
    const acquisition = await limiter.acquire(call, deadline)
    results[index] = { arrival, acquisition, waited: now - at }
    if (!acquisition.ok) return
    maxInFlight = Math.max(maxInFlight, limiter.slots.taken)
    const start = now
    // A timeout after a short time on the node is no evidence about the node (health.ts).
    const signal = takes > deadline.remaining() ? 'none' : 'success'
    agenda.add(now + Math.min(takes, deadline.remaining()), async () => limiter.release(call, start, signal))
  }
  for (const [index, arrival] of arrivals.entries()) agenda.add(arrival.at, arrive(arrival, index))
  for (let event = agenda.next(); event !== undefined; event = agenda.next()) {
    now = event.at
    void event.run()
    await settled()
  }
  return { results, maxInFlight, end: now }
}

/** Returns the share of the calls of a priority that had a slot. */
export function servedShare({ results }: Report, priority: LimitedCall['priority']): number {
  const all = results.filter(({ arrival }) => arrival.priority === priority)
  return all.filter(({ acquisition }) => acquisition.ok).length / all.length
}

/** Returns `count` arrivals, evenly spread over `span` milliseconds. */
export function spread(count: number, span: number, arrival: Omit<Arrival, 'at'>): Arrival[] {
  return Array.from({ length: count }, (_, i) => ({ ...arrival, at: (i * span) / count }))
}

interface Event {
  readonly at: number
  readonly run: () => Promise<void>
}

/** A binary heap of events by time. Events of the same time are in no particular order. */
export class Agenda {
  readonly #heap: Event[] = []

  add(at: number, run: Event['run']): void {
    let index = this.#heap.push({ at, run }) - 1
    while (index > 0) {
      const parent = (index - 1) >> 1
      if (this.#at(parent) <= this.#at(index)) return
      this.#swap(parent, index)
      index = parent
    }
  }

  next(): Event | undefined {
    const last = this.#heap.length - 1
    if (last < 0) return undefined
    this.#swap(0, last)
    const event = this.#heap.pop()
    let index = 0
    while (true) {
      const [left, right] = [2 * index + 1, 2 * index + 2]
      const less = this.#at(right) < this.#at(left) ? right : left
      if (this.#at(less) >= this.#at(index)) return event
      this.#swap(less, index)
      index = less
    }
  }

  #at(index: number): number {
    return this.#heap[index]?.at ?? Number.POSITIVE_INFINITY
  }

  #swap(a: number, b: number): void {
    const [x, y] = [this.#heap[a], this.#heap[b]]
    if (x === undefined || y === undefined) return
    this.#heap[a] = y
    this.#heap[b] = x
  }
}

export function deadlineIn(timeout: number, clock: () => number, agenda: Agenda): Deadline {
  const controller = new AbortController()
  const at = clock() + timeout
  agenda.add(at, async () => controller.abort('timeout'))
  const nothing = () => undefined
  return {
    signal: controller.signal,
    remaining: () => at - clock(),
    fault: () => 'timeout',
    expire: nothing,
    end: nothing,
  }
}

/** Resolves after all promises that can settle now have settled. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 6; turn += 1) await null
}

/** Returns the flow of a text such as `ann 127.0.0.1 7`; with `+` at its end it is bulk. */
export function flowOf(text: string): ClientFlow {
  const [party = text, name = ''] = text.includes(' ')
    ? [text.slice(0, text.lastIndexOf(' ')), text.slice(text.lastIndexOf(' ') + 1)]
    : []
  return { party, name, isBulk: text.endsWith('+') }
}

/** Returns a call of an interactive client. `flow`: as in `flowOf`. */
export function clientCall(flow: string, more: Partial<LimitedCall> = {}): LimitedCall {
  return { priority: 'interactive', caller: 'ann', flow: flowOf(flow), endpoint: 'GET /', ...more }
}
