import type { JoinEvent, NodeCallEvent, RequestEvent } from '../../core/events.ts'
import type { History, JoinedLine, Rates, Totals } from './api-types.ts'
import { Histogram, nothing, ratesOf, ring } from './time-slots.ts'

/** What happened lately, counted as it happens: rates of now, points of the last hour, groups, nodes. All of it is bounded. */

export interface Traffic {
  request(event: RequestEvent): void
  nodeCall(event: NodeCallEvent): void
  rates(): Rates
  totals(): Totals
  history(): History
  /** Hits and misses since the start. */
  group(name: string): { readonly hits: number; readonly misses: number }
  node(name: string): NodeTraffic
}

const SECOND = 1000
const STRETCH = 10_000
const HOUR = 360
const NOW = 10
const ROUTES = 1000
const NEWEST = 0.1

/** `clock`: monotonic milliseconds. */
export function createTraffic(clock: () => number = () => performance.now()): Traffic {
  const seconds = ring(NOW + 1, SECOND)
  const stretches = ring(HOUR + 1, STRETCH)
  const sums = nothing()
  const groups = new Map<string, { hits: number; misses: number }>()
  const nodes = new Map<string, ReturnType<typeof nodeWindow>>()
  const missTimes = new Map<string, number>()
  const began = clock()

  return {
    request({ route, group, status, ms, cache, fetchTime: cost }) {
      const now = clock()
      const hit = cache === 'hit' || cache === 'stale'
      const cacheable = hit || cache === 'miss'
      if (cache === 'miss' && status < 500) learn(missTimes, route, ms)
      const saved = hit ? Math.max(0, (cost ?? missTimes.get(route) ?? 0) - ms) : 0
      const [second, stretch] = [seconds.slot(now), stretches.slot(now)]
      second.times.add(ms)
      stretch.times.add(ms)
      for (const into of [second, stretch, sums]) {
        into.requests += 1
        into.hits += hit ? 1 : 0
        into.cacheable += cacheable ? 1 : 0
        into.saved += saved
        into.failures += status >= 500 ? 1 : 0
      }
      if (group === 'none' || !cacheable) return
      const counted = groups.get(group) ?? { hits: 0, misses: 0 }
      groups.set(group, counted)
      counted[hit ? 'hits' : 'misses'] += 1
    },
    nodeCall({ node, ms, fault }) {
      const now = clock()
      for (const into of [seconds.slot(now), stretches.slot(now), sums]) into.calls += 1
      const window = nodes.get(node) ?? nodeWindow()
      nodes.set(node, window)
      window.add(now, ms, fault !== undefined)
    },
    rates() {
      const now = clock()
      // The second under way is not over, and would count for less.
      return ratesOf(seconds.last(now, NOW), Math.min(NOW * SECOND, Math.max(SECOND, now - began)))
    },
    totals: () => ({ ...sums }),
    history: () => historyOf(stretches, clock(), began),
    group: (name) => groups.get(name) ?? { hits: 0, misses: 0 },
    node: (name) => (nodes.get(name) ?? nodeWindow()).read(clock()),
  }
}

/** Stretches before the start are not quiet: nothing is known of them. */
function historyOf(stretches: ReturnType<typeof ring>, now: number, began: number): History {
  const { length } = stretches
  const end = Math.floor((Date.now() - (now % length)) / SECOND)
  const rates = stretches.last(now, HOUR).map((slot, index) => {
    const over = (Math.floor(now / length) - HOUR + index + 1) * length
    return over > began ? ratesOf([slot], length) : undefined
  })
  const column = (name: keyof Rates) => rates.map((each) => each?.[name] ?? null)
  return {
    stretch: length,
    at: rates.map((_, index) => end - ((HOUR - 1 - index) * length) / SECOND),
    perSecond: column('perSecond'),
    hitRatio: column('hitRatio'),
    p50: column('p50'),
    p99: column('p99'),
    callsPerSecond: column('callsPerSecond'),
    savedPerSecond: column('savedPerSecond'),
  }
}

/** A moving average for each route, for as many as there can be. */
function learn(times: Map<string, number>, route: string, ms: number): void {
  const before = times.get(route)
  if (before !== undefined) times.set(route, before + (ms - before) * NEWEST)
  else if (times.size < ROUTES) times.set(route, ms)
}

/** Calls to one node over the last minutes. */

/** Minutes that the figures of a node look back. */
const LOOK_BACK = 5
const MINUTE = 60_000

export interface NodeTraffic {
  readonly calls: number
  readonly errors: number
  readonly p50: number | undefined
  readonly p99: number | undefined
}

export function nodeWindow() {
  const minutes = Array.from({ length: LOOK_BACK + 1 }, () => ({ at: -1, calls: 0, errors: 0, times: new Histogram() }))
  return {
    add(now: number, ms: number, failed: boolean): void {
      const at = Math.floor(now / MINUTE)
      const minute = minutes[at % minutes.length]
      if (minute === undefined) return
      if (minute.at !== at) {
        minute.times.clear()
        Object.assign(minute, { at, calls: 0, errors: 0 })
      }
      minute.calls += 1
      minute.errors += failed ? 1 : 0
      minute.times.add(ms)
    },
    read(now: number): NodeTraffic {
      const from = Math.floor(now / MINUTE) - LOOK_BACK
      const times = new Histogram()
      const sum = { calls: 0, errors: 0 }
      for (const minute of minutes) {
        if (minute.at < from) continue
        times.merge(minute.times)
        sum.calls += minute.calls
        sum.errors += minute.errors
      }
      return { ...sum, p50: times.quantile(0.5), p99: times.quantile(0.99) }
    },
  }
}

/** The last answers that were joined of what several nodes gave: a few, for people. */

export interface Joins {
  join(event: JoinEvent): void
  /** The newest first. */
  last(): readonly JoinedLine[]
}

const MOST = 20

/** `clock`: monotonic milliseconds. */
export function createJoins(clock: () => number = () => performance.now()): Joins {
  const kept: { readonly at: number; readonly event: JoinEvent }[] = []
  return {
    join(event) {
      kept.unshift({ at: clock(), event })
      if (kept.length > MOST) kept.pop()
    },
    last: () => kept.map(({ at, event }) => lineOf(event, clock() - at)),
  }
}

function lineOf({ route, ms, nodes }: JoinEvent, ago: number): JoinedLine {
  const shares = nodes.map((share) => (share.ms === undefined ? share : { ...share, ms: Math.round(share.ms) }))
  return { ago: Math.round(ago), route, ms: Math.round(ms), nodes: shares }
}
