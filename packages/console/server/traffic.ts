/** Recent traffic for the console: rates and latencies, cache groups, nodes, joined responses. Bounded in size. */
import { type EventListeners, type JoinEvent, type NodeCallEvent, wasSent } from '../../../src/core/events.ts'
import { systemClock } from '../../../src/core/timing.ts'
import type { LastRequests, RequestTotals } from '../../../src/status/edge-view.ts'
import type { Totals } from './api-types.ts'
import type { GroupSummary } from './cache-types.ts'
import { LatencyHistogram } from './latency-histogram.ts'
import type { JoinedResponse, Rates } from './node-types.ts'
import { sumsOf, sumsOfGroup } from './request-totals.ts'

const SECOND_MS = 1000

type Sums = { -readonly [Name in keyof Totals]: number }
/** `times`: latencies of requests. */
type Counts = Sums & { readonly times: LatencyHistogram }

function emptyCounts(): Counts {
  const sums = { requests: 0, hits: 0, cacheable: 0, calls: 0, saved: 0, failures: 0 }
  return { ...sums, times: new LatencyHistogram() }
}

type Countable = Readonly<Record<string, number | LatencyHistogram>>

/** Adds all numbers and histograms of the same names. `sign`: -1 subtracts them. */
function addCounts<T extends Countable>(target: T, added: Partial<T>, sign: 1 | -1 = 1): T {
  const numbers = target as Record<string, number | LatencyHistogram>
  for (const [name, value] of Object.entries(added)) {
    const known = numbers[name]
    if (typeof value === 'number' && typeof known === 'number') numbers[name] = known + sign * value
    else if (value instanceof LatencyHistogram && known instanceof LatencyHistogram) known.merge(value, sign)
  }
  return target
}

/** The rates per second, with the counts that they are of. */
const PER_SECOND = {
  perSecond: 'requests',
  cacheablePerSecond: 'cacheable',
  callsPerSecond: 'calls',
  savedPerSecond: 'saved',
  failuresPerSecond: 'failures',
} as const
type RateName = keyof typeof PER_SECOND
const RATE_NAMES = Object.keys(PER_SECOND) as RateName[]

function ratesBy(rateOf: (name: RateName) => number): Record<RateName, number> {
  return Object.fromEntries(RATE_NAMES.map((name) => [name, rateOf(name)])) as Record<RateName, number>
}

/** Returns the rates of what was counted in `durationMs` milliseconds. */
function ratesOf(counted: Counts, durationMs: number): Rates {
  const [p50, p99] = [counted.times.quantile(0.5), counted.times.quantile(0.99)]
  return {
    ...ratesBy((name) => (counted[PER_SECOND[name]] * SECOND_MS) / durationMs),
    ...(counted.cacheable > 0 && { hitRatio: counted.hits / counted.cacheable }),
    ...(p50 !== undefined && { p50 }),
    ...(p99 !== undefined && { p99 }),
  }
}

/**
 * Returns the rates of several replicas together. Latencies cannot be added: those of the slowest replica count. A replica
 * of an earlier version does not report its cacheable requests, and has no part in the hit ratio.
 */
export function sumRates(all: readonly Rates[]): Rates {
  const sum = (read: (rates: Rates) => number) => all.reduce((total, rates) => total + read(rates), 0)
  const slowest = (name: 'p50' | 'p99') => {
    const values = all.flatMap((rates) => rates[name] ?? [])
    return values.length === 0 ? {} : { [name]: Math.max(...values) }
  }
  const rates = ratesBy((name) => sum((each) => each[name] ?? 0))
  const hits = sum(({ hitRatio = 0, cacheablePerSecond = 0 }) => hitRatio * cacheablePerSecond)
  return {
    ...rates,
    ...(rates.cacheablePerSecond > 0 && { hitRatio: hits / rates.cacheablePerSecond }),
    ...slowest('p50'),
    ...slowest('p99'),
  }
}

export interface Traffic extends Required<Pick<EventListeners, 'nodeCall' | 'cache'>> {
  /** Returns the rates of the last `RATES_PERIOD_MS`. */
  rates(): Rates
  totals(): Totals
  /** Returns the counts of a cache group since the start. */
  group(name: string): Pick<GroupSummary, 'hits' | 'misses' | 'divergence'>
  /** Returns the calls to a node in the last five minutes. */
  node(name: string): NodeTraffic
  /** Notes the totals, from which the rates follow. Called each second. */
  sample(): void
  stop(): void
}

export const RATES_PERIOD_MS = 10_000
const MINUTE_MS = 60_000
const NODE_MINUTES = 5
const MAX_JOINS = 20

export interface TrafficOptions {
  readonly totals: () => RequestTotals
  readonly requests: Pick<LastRequests, 'drain'>
  /** Monotonic milliseconds. */
  readonly clock?: () => number
}

/** Reads the totals each second: a request enters nothing here. */
export function createTraffic({ totals, requests, clock = systemClock.elapsed }: TrafficOptions): Traffic {
  const readTotals = (): Counts => {
    requests.drain()
    return sumsOf(totals())
  }
  /** Oldest first. The first one is at least as old as the period of the rates, as soon as this process is. */
  const samples: { readonly at: number; readonly counts: Counts }[] = []
  const sample = (): void => {
    const at = clock()
    samples.push({ at, counts: readTotals() })
    while (samples[1] !== undefined && samples[1].at <= at - RATES_PERIOD_MS) samples.shift()
  }
  sample()
  const timer = setInterval(sample, SECOND_MS).unref()
  const nodes = new Map<string, NodeWindow>()
  const divergences = new Map<string, NonNullable<GroupSummary['divergence']>>()

  return {
    sample,
    stop: () => clearInterval(timer),
    nodeCall(call, at = clock()) {
      // The call of a client that has disconnected shows nothing about the node.
      if (!wasSent(call) || call.fault === 'cancelled') return
      const window = nodes.get(call.node) ?? new NodeWindow()
      nodes.set(call.node, window)
      window.add(at, call)
    },
    cache(event) {
      if (event.kind !== 'verified' || event.outcome === 'inconclusive') return
      const { compared, different } = divergences.get(event.group) ?? { compared: 0, different: 0 }
      divergences.set(event.group, {
        compared: compared + 1,
        different: different + Number(event.outcome === 'different'),
      })
    },
    rates() {
      const now = clock()
      const start = samples.findLast(({ at }) => at <= now - RATES_PERIOD_MS) ?? samples[0]
      const counted = start === undefined ? emptyCounts() : addCounts(readTotals(), start.counts, -1)
      // The counts of a moment would be extreme rates.
      return ratesOf(counted, Math.max(SECOND_MS, now - (start?.at ?? now)))
    },
    totals: () => {
      const { times: _, ...sums } = readTotals()
      return sums
    },
    group: (name) => {
      requests.drain()
      const divergence = divergences.get(name)
      return { ...sumsOfGroup(totals(), name), ...(divergence && { divergence }) }
    },
    node: (name) => {
      requests.drain()
      return (nodes.get(name) ?? new NodeWindow()).read(clock())
    },
  }
}

/**
 * The counts in the last `size` periods of `periodMs` milliseconds. Nothing is counted here: a period is the difference of
 * the totals at its end and at its start.
 */
class Periods<T extends Countable> {
  readonly #size: number
  readonly #periodMs: number
  readonly #readTotals: () => T
  readonly #ended: ({ readonly at: number; readonly counts: T } | undefined)[] = []
  /** The number of the current period, and the totals at its start. */
  #at = -1
  #start: T | undefined

  /** `readTotals` returns a copy. */
  constructor(size: number, periodMs: number, readTotals: () => T) {
    this.#size = size
    this.#periodMs = periodMs
    this.#readTotals = readTotals
  }

  /** To be called before something is counted at this time. */
  advance(now: number): void {
    const at = Math.floor(now / this.#periodMs)
    if (at === this.#at) return
    if (this.#start !== undefined)
      this.#ended[this.#at % this.#size] = { at: this.#at, counts: this.#current(this.#start) }
    this.#at = at
    this.#start = this.#readTotals()
  }

  /** Returns the period with this number. Undefined if nothing was counted in it, or if it is too old. */
  read(at: number): T | undefined {
    if (this.#start !== undefined && at === this.#at) return this.#current(this.#start)
    if (at < 0 || at <= this.#at - this.#size) return undefined
    const period = this.#ended[at % this.#size]
    return period?.at === at ? period.counts : undefined
  }

  /** Returns those of the periods before that of `now`, as many as `count`, in which something was counted. */
  before(now: number, count: number): T[] {
    const current = Math.floor(now / this.#periodMs)
    return Array.from({ length: count }, (_, index) => this.read(current - count + index) ?? []).flat() as T[]
  }

  #current(start: T): T {
    return addCounts(this.#readTotals(), start, -1)
  }
}

interface NodeTraffic {
  readonly calls: number
  /** Calls without a usable response. */
  readonly failed: number
  /** Responses with a status from 400. */
  readonly errorResponses: number
  readonly p50: number | undefined
  readonly p99: number | undefined
}

class NodeWindow {
  readonly #totals = emptyCalls()
  readonly #minutes = new Periods(NODE_MINUTES + 1, MINUTE_MS, () => addCounts(emptyCalls(), this.#totals))

  add(now: number, { status = 0, fault, ms }: NodeCallEvent): void {
    this.#minutes.advance(now)
    this.#totals.calls += 1
    if (fault !== undefined) this.#totals.failed += 1
    else if (status >= 400) this.#totals.errorResponses += 1
    this.#totals.times.add(ms)
  }

  read(now: number): NodeTraffic {
    // With the running minute.
    const minutes = this.#minutes.before(now + MINUTE_MS, NODE_MINUTES + 1)
    const { times, ...sums } = minutes.reduce((sum, minute) => addCounts(sum, minute), emptyCalls())
    return { ...sums, p50: times.quantile(0.5), p99: times.quantile(0.99) }
  }
}

function emptyCalls() {
  return { calls: 0, failed: 0, errorResponses: 0, times: new LatencyHistogram() }
}

export interface RecentJoins extends Required<Pick<EventListeners, 'join'>> {
  /** Returns the last joined responses, newest first. */
  last(): readonly JoinedResponse[]
}

/** `clock`: monotonic milliseconds. */
export function createRecentJoins(clock: () => number = systemClock.elapsed): RecentJoins {
  const joins: { readonly at: number; readonly event: JoinEvent }[] = []
  return {
    join(event, at = clock()) {
      joins.unshift({ at, event })
      if (joins.length > MAX_JOINS) joins.pop()
    },
    last: () => joins.map(({ at, event }) => joinedResponseOf(event, clock() - at)),
  }
}

function joinedResponseOf({ route, ms, nodes }: JoinEvent, ago: number): JoinedResponse {
  const parts = nodes.map((part) => (part.ms === undefined ? part : { ...part, ms: Math.round(part.ms) }))
  return { ago: Math.round(ago), route, ms: Math.round(ms), nodes: parts }
}
