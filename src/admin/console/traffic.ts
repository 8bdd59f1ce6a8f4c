/** Recent traffic for the console: current rates, intervals of ten seconds, cache groups, nodes, joined responses. Bounded in size. */
import type { NodeFault } from '../../core/errors.ts'
import type { EventListeners, JoinEvent } from '../../core/events.ts'
import type { Rates, Totals } from './api-types.ts'
import type { JoinedResponse } from './node-types.ts'
import { createSlotRing, emptySums, Histogram, ratesOf, type Slot, type Sums } from './time-slots.ts'

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
/** Routes whose average time of a miss is remembered. */
const MAX_ROUTES = 1000
/** Weight of the newest miss in the average of its route. */
const NEWEST_WEIGHT = 0.1
const MAX_JOINS = 20

/**
 * `clock`: monotonic milliseconds. `wallClock`: milliseconds since 1970, since replicas compare their intervals. Events of
 * requests have both times.
 */
export function createTraffic(
  clock: () => number = () => performance.now(),
  wallClock: () => number = Date.now,
): Traffic {
  const seconds = createSlotRing(RATE_SECONDS + 1, SECOND_MS)
  const intervals = createSlotRing(INTERVALS + 1, INTERVAL_MS)
  const totals = emptySums()
  const groups = new Map<string, { hits: number; misses: number }>()
  const nodes = new Map<string, NodeWindow>()
  const missTimes = new Map<string, number>()
  const startedAt = clock()

  return {
    request({ route, group, status, ms, at, endedAt, cache, fetchTime }) {
      const isHit = cache === 'hit' || cache === 'stale'
      const isCacheable = isHit || cache === 'miss'
      if (cache === 'miss' && status < 500) updateAverage(missTimes, route, ms)
      const saved = isHit ? Math.max(0, (fetchTime ?? missTimes.get(route) ?? 0) - ms) : 0
      const [second, interval] = [seconds.slotAt(endedAt), intervals.slotAt(at)]
      second.times.add(ms)
      interval.times.add(ms)
      const isFailure = status >= 500
      // Written out: an array for each request costs as much as the sums.
      addRequest(second, saved, isHit, isCacheable, isFailure)
      addRequest(interval, saved, isHit, isCacheable, isFailure)
      addRequest(totals, saved, isHit, isCacheable, isFailure)
      if (group === 'none' || !isCacheable) return
      const counts = groups.get(group) ?? { hits: 0, misses: 0 }
      groups.set(group, counts)
      counts[isHit ? 'hits' : 'misses'] += 1
    },
    nodeCall({ node, ms, status, fault }) {
      const now = clock()
      for (const sums of [seconds.slotAt(now), intervals.slotAt(wallClock()), totals]) sums.calls += 1
      const window = nodes.get(node) ?? new NodeWindow()
      nodes.set(node, window)
      window.add(now, ms, resultOf(status, fault))
    },
    rates() {
      const now = clock()
      // The current second has not ended and would lower the rates.
      const covered = Math.min(RATE_SECONDS * SECOND_MS, Math.max(SECOND_MS, now - startedAt))
      return ratesOf(seconds.last(now, RATE_SECONDS), covered)
    },
    totals: () => ({ ...totals }),
    interval: (at) => intervals.read(at),
    group: (name) => groups.get(name) ?? { hits: 0, misses: 0 },
    node: (name) => (nodes.get(name) ?? new NodeWindow()).read(clock()),
  }
}

function addRequest(sums: Sums, saved: number, isHit: boolean, isCacheable: boolean, isFailure: boolean): void {
  sums.requests += 1
  sums.saved += saved
  if (isHit) sums.hits += 1
  if (isCacheable) sums.cacheable += 1
  if (isFailure) sums.failures += 1
}

/** Updates the moving average of a route. Ignores routes beyond `MAX_ROUTES`. */
function updateAverage(averages: Map<string, number>, route: string, ms: number): void {
  const before = averages.get(route)
  if (before !== undefined) averages.set(route, before + (ms - before) * NEWEST_WEIGHT)
  else if (averages.size < MAX_ROUTES) averages.set(route, ms)
}

/** How a call ended: without a usable response, or with one that reports an error by its status. */
type CallResult = 'ok' | 'failed' | 'errorResponse'

/** The edge did not send these calls. */
const NOT_SENT: ReadonlySet<NodeFault> = new Set(['overloaded', 'ejected', 'drained', 'blocked', 'loginsBlocked'])

/** Returns `undefined` for a call that was not sent, or whose client disconnected: it shows nothing about the node. */
function resultOf(status: number | undefined, fault: NodeFault | undefined): CallResult | undefined {
  if (fault === undefined) return status !== undefined && status >= 400 ? 'errorResponse' : 'ok'
  return NOT_SENT.has(fault) || fault === 'cancelled' ? undefined : 'failed'
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
    times: new Histogram(),
  }))

  add(now: number, ms: number, result: CallResult | undefined): void {
    if (result === undefined) return
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
    const times = new Histogram()
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
