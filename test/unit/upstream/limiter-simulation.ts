/** A gate in a world where time is a number: arrivals, calls of known length, deadlines. Nothing here waits. */
import type { Deadline } from '../../../src/core/timing.ts'
import { type Entry, Gate, type Lesson, type Visitor } from '../../../src/upstream/limiter.ts'

export type Load = Visitor['priority']

export interface Arrival extends Partial<Visitor> {
  readonly at: number
  readonly priority: Load
  /** Milliseconds on the node, once it is there. */
  readonly takes: number
  readonly timeout?: number
}

export interface Seen {
  readonly arrival: Arrival
  readonly entry: Entry
  /** Milliseconds until it was let in or sent away. */
  readonly waited: number
}

/** What became of each arrival, in the order of arrival, and the most calls that were in flight at once. */
export interface Report {
  readonly seen: readonly Seen[]
  readonly most: number
  readonly over: number
}

const limits = { inFlight: 4, queue: 256, perCaller: 2 }

export async function run(arrivals: readonly Arrival[], more: Partial<typeof limits> = {}): Promise<Report> {
  let now = 0
  let most = 0
  const gate = new Gate({ ...limits, ...more }, () => now)
  const agenda = new Agenda()
  const seen: Seen[] = []
  const arrive = (arrival: Arrival, place: number) => async () => {
    const { at, priority: load, takes, timeout = 20_000 } = arrival
    const visitor: Visitor = { caller: 'ann', endpoint: 'GET /agents', expect: 'bytes', ...arrival, priority: load }
    const deadline = deadlineIn(timeout, () => now, agenda)
    const entry = await gate.enter(visitor, deadline)
    seen[place] = { arrival, entry, waited: now - at }
    if (!entry.ok) return
    most = Math.max(most, gate.inFlight)
    const began = now
    // A call that had hardly any time left teaches nothing (verdict.ts).
    const lesson: Lesson = takes > deadline.remaining() ? 'nothing' : 'answered'
    agenda.add(now + Math.min(takes, deadline.remaining()), async () => gate.leave(visitor, began, lesson))
  }
  for (const [place, arrival] of arrivals.entries()) agenda.add(arrival.at, arrive(arrival, place))
  for (let due = agenda.next(); due !== undefined; due = agenda.next()) {
    now = due.at
    void due.what()
    await settled()
  }
  return { seen, most, over: now }
}

export function share(report: Report, load: Load): number {
  const all = report.seen.filter(({ arrival }) => arrival.priority === load)
  return all.filter(({ entry }) => entry.ok).length / all.length
}

/** Evenly spread over `span` milliseconds. */
export function spread(count: number, span: number, one: Omit<Arrival, 'at'>): Arrival[] {
  return Array.from({ length: count }, (_, i) => ({ ...one, at: (i * span) / count }))
}

interface Due {
  readonly at: number
  readonly what: () => Promise<void>
}

/** A heap, since thousands of deadlines stand in it. Equal times keep no order. */
class Agenda {
  readonly #heap: Due[] = []

  add(at: number, what: Due['what']): void {
    let place = this.#heap.push({ at, what }) - 1
    while (place > 0) {
      const above = (place - 1) >> 1
      if (this.#at(above) <= this.#at(place)) return
      this.#swap(above, place)
      place = above
    }
  }

  next(): Due | undefined {
    const last = this.#heap.length - 1
    if (last < 0) return undefined
    this.#swap(0, last)
    const due = this.#heap.pop()
    let place = 0
    while (true) {
      const [left, right] = [2 * place + 1, 2 * place + 2]
      const less = this.#at(right) < this.#at(left) ? right : left
      if (this.#at(less) >= this.#at(place)) return due
      this.#swap(less, place)
      place = less
    }
  }

  #at(place: number): number {
    return this.#heap[place]?.at ?? Number.POSITIVE_INFINITY
  }

  #swap(a: number, b: number): void {
    const [x, y] = [this.#heap[a], this.#heap[b]]
    if (x === undefined || y === undefined) return
    this.#heap[a] = y
    this.#heap[b] = x
  }
}

function deadlineIn(timeout: number, clock: () => number, agenda: Agenda): Deadline {
  const controller = new AbortController()
  const at = clock() + timeout
  agenda.add(at, async () => controller.abort('timeout'))
  return { signal: controller.signal, remaining: () => at - clock(), fault: () => 'timeout', end: () => undefined }
}

/** All promises that can settle now have settled. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 6; turn += 1) await null
}
