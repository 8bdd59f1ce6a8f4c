/** Recent traffic for the console: current rates, intervals of ten seconds, cache groups, nodes, joined responses. Bounded in size. */
import { type EventListeners, type JoinEvent, wasSent } from '../../core/events.ts'
import { LatencyHistogram } from '../../core/latency-histogram.ts'
import type { Totals } from './api-types.ts'
import type { JoinedResponse, Rates } from './node-types.ts'
import type { LastRequests } from './request-records.ts'
import { type Counts, type NodeTraffic, NodeWindow, ratesOf, resultOf, type Slot, SUM_NAMES } from './time-slots.ts'

export interface Traffic extends Required<Pick<EventListeners, 'request' | 'nodeCall'>> {
  /** Returns the rates of the last ten seconds. */
  rates(): Rates
  totals(): Totals
  /**
   * Returns an interval of `INTERVAL_MS`, by its number since 1970. Undefined if it had no request and no call to a node, or
   * if it ended more than `INTERVALS` intervals ago.
   */
  interval(at: number): Readonly<Slot> | undefined
  /** Returns hits and misses of a cache group since the start. */
  group(name: string): { readonly hits: number; readonly misses: number }
  /** Returns the calls to a node in the last five minutes. */
  node(name: string): NodeTraffic
}

const SECOND_MS = 1000
const RATE_SECONDS = 10
export const INTERVAL_MS = 10_000
/** Ten minutes: the history takes over an interval soon after its end, also in a process that was busy or suspended. */
export const INTERVALS = 60
const MAX_JOINS = 20

/** The counts of all requests since the start. */
export interface RequestTotals extends Required<Pick<EventListeners, 'request'>> {
  sums(): Omit<Counts, 'calls' | 'nodeTimes'>
  /** Returns hits and misses of a cache group. */
  group(name: string): { readonly hits: number; readonly misses: number }
}

export interface TrafficOptions {
  /** Counts requests when this module passes them on. */
  readonly counts: RequestTotals
  readonly requests: Pick<LastRequests, 'drain'>
  /** Monotonic milliseconds. */
  readonly clock?: () => number
  /** Milliseconds since 1970, since replicas compare their intervals. Events of requests have both times. */
  readonly wallClock?: () => number
}

export function createTraffic(options: TrafficOptions): Traffic {
  const { counts, requests, clock = () => performance.now(), wallClock = Date.now } = options
  let calls = 0
  const nodeTimes = new LatencyHistogram()
  const readTotals = (): Counts => {
    const copied = new LatencyHistogram()
    copied.merge(nodeTimes)
    return { ...counts.sums(), calls, nodeTimes: copied }
  }
  const seconds = new Periods(RATE_SECONDS + 1, SECOND_MS, readTotals)
  const intervals = new Periods(INTERVALS + 1, INTERVAL_MS, readTotals)
  const nodes = new Map<string, NodeWindow>()
  const startedAt = clock()
  const advance = (elapsed: number, wall: number): void => {
    seconds.advance(elapsed)
    intervals.advance(wall)
  }

  return {
    request(event) {
      advance(event.endedAt, event.at)
      counts.request(event)
    },
    nodeCall(call) {
      if (!wasSent(call)) return
      // The requests that have ended before belong to earlier periods.
      requests.drain()
      const now = clock()
      advance(now, wallClock())
      calls += 1
      // The call of a client that has disconnected shows nothing about the node.
      if (call.fault === 'cancelled') return
      const window = nodes.get(call.node) ?? new NodeWindow()
      nodes.set(call.node, window)
      window.add(now, call.ms, resultOf(call))
      nodeTimes.add(call.ms)
    },
    rates() {
      requests.drain()
      const now = clock()
      // The current second has not ended and would lower the rates.
      const covered = Math.min(RATE_SECONDS * SECOND_MS, Math.max(SECOND_MS, now - startedAt))
      return ratesOf(seconds.last(now, RATE_SECONDS), covered)
    },
    totals: () => {
      requests.drain()
      const { times: _, nodeTimes: __, ...sums } = readTotals()
      return sums
    },
    interval: (at) => {
      requests.drain()
      return intervals.read(at)
    },
    group: (name) => {
      requests.drain()
      return counts.group(name)
    },
    node: (name) => (nodes.get(name) ?? new NodeWindow()).read(clock()),
  }
}

/**
 * The counts in the last `size` periods of `periodMs` milliseconds. Nothing is counted here: a period is the difference of
 * the totals at its end and at its start.
 */
class Periods {
  readonly #size: number
  readonly #periodMs: number
  readonly #readTotals: () => Counts
  readonly #ended: (Slot | undefined)[] = []
  /** The number of the current period, and the totals at its start. */
  #at = -1
  #start: Counts | undefined

  constructor(size: number, periodMs: number, readTotals: () => Counts) {
    this.#size = size
    this.#periodMs = periodMs
    this.#readTotals = readTotals
  }

  /** To be called before something is counted at this time. */
  advance(now: number): void {
    const at = Math.floor(now / this.#periodMs)
    if (at === this.#at) return
    if (this.#start !== undefined) this.#ended[this.#at % this.#size] = this.#current(this.#start)
    this.#at = at
    this.#start = this.#readTotals()
  }

  /** Returns the period with this number. Undefined if nothing was counted in it, or if it is too old. */
  read(at: number): Slot | undefined {
    if (this.#start !== undefined && at === this.#at) return this.#current(this.#start)
    if (at < 0 || at <= this.#at - this.#size) return undefined
    const slot = this.#ended[at % this.#size]
    return slot?.at === at ? slot : undefined
  }

  /** Returns the last `count` completed periods, oldest first; undefined for a period without counts. */
  last(now: number, count: number): (Slot | undefined)[] {
    const current = Math.floor(now / this.#periodMs)
    return Array.from({ length: count }, (_, index) => this.read(current - count + index))
  }

  #current(start: Counts): Slot {
    const counts = this.#readTotals()
    for (const name of SUM_NAMES) counts[name] -= start[name]
    counts.times.merge(start.times, -1)
    counts.nodeTimes.merge(start.nodeTimes, -1)
    return { ...counts, at: this.#at }
  }
}

export interface RecentJoins extends Required<Pick<EventListeners, 'join'>> {
  /** Returns the last joined responses, newest first. */
  last(): readonly JoinedResponse[]
}

/** `clock`: monotonic milliseconds. */
export function createRecentJoins(clock: () => number = () => performance.now()): RecentJoins {
  const joins: { readonly at: number; readonly event: JoinEvent }[] = []
  return {
    join(event) {
      joins.unshift({ at: clock(), event })
      if (joins.length > MAX_JOINS) joins.pop()
    },
    last: () => joins.map(({ at, event }) => joinedResponseOf(event, clock() - at)),
  }
}

function joinedResponseOf({ route, ms, nodes }: JoinEvent, ago: number): JoinedResponse {
  const parts = nodes.map((part) => (part.ms === undefined ? part : { ...part, ms: Math.round(part.ms) }))
  return { ago: Math.round(ago), route, ms: Math.round(ms), nodes: parts }
}
