/** Recent traffic for the console: current rates, intervals of ten seconds, cache groups, nodes, joined responses. Bounded in size. */
import { type EventListeners, type JoinEvent, type NodeCallEvent, wasSent } from '../../core/events.ts'
import { LatencyHistogram } from '../../core/latency-histogram.ts'
import type { Rates, Totals } from './api-types.ts'
import type { JoinedResponse } from './node-types.ts'
import type { LastRequests } from './request-records.ts'
import { Periods, ratesOf, type Slot, type Sums } from './time-slots.ts'

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
const MINUTE_MS = 60_000
const RATE_SECONDS = 10
export const INTERVAL_MS = 10_000
/** Ten minutes: the history takes over an interval soon after its end, also in a process that was busy or suspended. */
export const INTERVALS = 60
const NODE_WINDOW_MINUTES = 5
const MAX_JOINS = 20

/** The counts of all requests since the start. */
export interface RequestTotals extends Required<Pick<EventListeners, 'request'>> {
  sums(): Omit<Sums, 'calls'> & { readonly times: LatencyHistogram }
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
  const readTotals = () => ({ ...counts.sums(), calls })
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
      const { times: _, ...sums } = readTotals()
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

/** How a call ended: without a usable response, or with one that reports an error by its status. */
type CallResult = 'ok' | 'failed' | 'errorResponse'

function resultOf({ status = 0, fault }: NodeCallEvent): CallResult {
  if (fault !== undefined) return 'failed'
  return status >= 400 ? 'errorResponse' : 'ok'
}

export interface NodeTraffic {
  readonly calls: number
  /** Calls without a usable response. */
  readonly failed: number
  /** Responses with a status from 400. */
  readonly errorResponses: number
  readonly p50: number | undefined
  readonly p99: number | undefined
}

/** Calls to one node, in slots of one minute. */
class NodeWindow {
  readonly #minutes = Array.from({ length: NODE_WINDOW_MINUTES + 1 }, () => ({
    at: -1,
    calls: 0,
    failed: 0,
    errorResponses: 0,
    times: new LatencyHistogram(),
  }))

  add(now: number, ms: number, result: CallResult): void {
    const at = Math.floor(now / MINUTE_MS)
    const minute = this.#minutes[at % this.#minutes.length]
    if (minute === undefined) return
    if (minute.at !== at) {
      minute.times.clear()
      Object.assign(minute, { at, calls: 0, failed: 0, errorResponses: 0 })
    }
    minute.calls += 1
    if (result === 'failed') minute.failed += 1
    if (result === 'errorResponse') minute.errorResponses += 1
    minute.times.add(ms)
  }

  read(now: number): NodeTraffic {
    const from = Math.floor(now / MINUTE_MS) - NODE_WINDOW_MINUTES
    const times = new LatencyHistogram()
    const sums = { calls: 0, failed: 0, errorResponses: 0 }
    for (const minute of this.#minutes) {
      if (minute.at < from) continue
      times.merge(minute.times)
      sums.calls += minute.calls
      sums.failed += minute.failed
      sums.errorResponses += minute.errorResponses
    }
    return { ...sums, p50: times.quantile(0.5), p99: times.quantile(0.99) }
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
