/** What happened lately, counted as it happens: rates of now, points of the last hour, groups, nodes. All of it is bounded. */
import type { NodeCallEvent, RequestEvent } from '../../core/events.ts'
import type { History, Rates, Totals } from './answers/now.ts'
import { type NodeTraffic, nodeWindow } from './node-window.ts'
import { nothing, ratesOf, ring } from './slots.ts'

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
