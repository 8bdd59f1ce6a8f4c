/** What the requests of the last minutes cost the nodes, by caller and endpoint, and a rate limit against it. */
import { Type } from 'typebox'
import { validatorOf } from '../validation.ts'
import { type CallerCounts, shortenName, sumOf } from './caller-counts.ts'
import type { CallerCost, CostCounts, Costs, EndpointCost } from './request-types.ts'

/** A longer name would make the report too long for the other replicas. */
const MAX_NAME_CHARS = 120
const MAX_REPORTED = { callers: 15, endpoints: 30 }
const MAX_SHOWN = { callers: 50, endpoints: 100 }
/** No limit is proposed for a caller with a smaller share of the node time. */
const MIN_SHARE = 0.25
/** What the costliest caller needs on average, and the busiest second of the others, get this much room. */
const MEAN_ROOM = 1.5
const PEAK_ROOM = 1.2

const count = Type.Number({ minimum: 0 })
const counts = { requests: count, hits: count, calls: count, nodeTime: count }
const caller = Type.Union([Type.String({ maxLength: MAX_NAME_CHARS }), Type.Null()])
/** What one replica counted, as replicas report it to each other. */
interface CostReport extends Pick<Costs, 'seconds' | 'total' | 'callers' | 'endpoints'> {
  /** The greatest `peak` of a caller that the report does not list. Absent: it lists all. */
  readonly unlistedPeak?: number
}
/** Other programs may write to this Redis, so a report is validated before it is used. */
const isCostReport = validatorOf(
  Type.Object({
    seconds: count,
    unlistedPeak: Type.Optional(count),
    total: Type.Object(counts),
    callers: Type.Array(Type.Object({ caller, ...counts, limited: count, peak: count }), { maxItems: 100 }),
    endpoints: Type.Array(Type.Object({ caller, endpoint: Type.String({ maxLength: 300 }), ...counts }), {
      maxItems: 100,
    }),
  }),
)

export class ConsoleCosts {
  readonly #requests: { drain(): void }
  readonly #counts: Pick<CallerCounts, 'rows'>
  readonly #limit: () => number
  #others: readonly CostReport[] = []

  /** `limit`: returns the setting `access.limits.requestsPerSecond`. */
  constructor(requests: { drain(): void }, counts: Pick<CallerCounts, 'rows'>, limit: () => number) {
    this.#requests = requests
    this.#counts = counts
    this.#limit = limit
  }

  /** Returns what other replicas need. */
  report(): CostReport {
    return shortened(this.#countOwn(), MAX_REPORTED)
  }

  /** Takes what the others reported. Undefined: Redis is unreachable. Reports that are not valid are skipped. */
  offer(reports: readonly unknown[] = []): void {
    this.#others = reports.filter(isCostReport)
  }

  /** Returns the sums of all replicas. */
  read(): Costs {
    const all = [this.#countOwn(), ...this.#others]
    const seconds = Math.max(...all.map((report) => report.seconds))
    const callers = all.flatMap((report) => report.callers)
    const endpoints = all.flatMap((report) => report.endpoints)
    const total = sumOf(all.map((report) => report.total))
    const sum = { ...combine(seconds, callers, endpoints, (a, b) => a + b), total }
    const { unlistedPeak: _, ...shown } = shortened(sum, MAX_SHOWN)
    const peakWithout = (caller: string) => greatestPeak(all, caller)
    return { ...shown, replicas: all.length, ...proposeLimit(sum, this.#limit(), peakWithout) }
  }

  #countOwn(): CostReport {
    this.#requests.drain()
    const { seconds, callers, endpoints } = this.#counts.rows()
    const named = <Row extends { readonly caller: string | null }>(row: Row): Row => ({
      ...row,
      caller: row.caller && shortenName(row.caller, MAX_NAME_CHARS),
    })
    return combine(seconds, callers.map(named), endpoints.map(named), Math.max)
  }
}

/**
 * Returns a bound of what every caller except one sends in a second to all replicas: a caller that a replica does not list
 * sends it at most as much as another one that is not listed.
 */
function greatestPeak(reports: readonly CostReport[], except: string): number {
  const names = new Set<string | null | undefined>(
    reports.flatMap(({ callers }) => callers.map(({ caller }) => caller)),
  )
  // A caller that no replica lists.
  names.add(undefined)
  names.delete(except)
  names.delete(null)
  const peaks = [...names].map((name) => {
    const ofReplicas = reports.map(
      ({ callers, unlistedPeak = 0 }) => callers.find(({ caller }) => caller === name)?.peak ?? unlistedPeak,
    )
    return ofReplicas.reduce((all, peak) => all + peak, 0)
  })
  return Math.max(...peaks)
}

/** `peakOf`: of two rows of one caller. */
function combine(
  seconds: number,
  callers: readonly CallerCost[],
  endpoints: readonly EndpointCost[],
  peakOf: (a: number, b: number) => number,
): CostReport {
  const sums = addRows(
    callers,
    ({ caller }) => caller,
    (a, b) => ({ limited: a.limited + b.limited, peak: peakOf(a.peak, b.peak) }),
  )
  const pairs = addRows(endpoints, ({ caller, endpoint }) => JSON.stringify([caller, endpoint]))
  return { seconds, total: sumOf(sums), callers: sums, endpoints: pairs }
}

/** Adds the rows with the same key, and puts the costliest ones first. */
function addRows<Row extends CostCounts>(
  rows: readonly Row[],
  keyOf: (row: Row) => string | null,
  more: (a: Row, b: Row) => Partial<Row> = () => ({}),
): readonly Row[] {
  const sums = new Map<string | null, Row>()
  for (const row of rows) {
    const known = sums.get(keyOf(row))
    sums.set(keyOf(row), known === undefined ? row : { ...known, ...sumOf([known, row]), ...more(known, row) })
  }
  return [...sums.values()].sort((a, b) => b.nodeTime - a.nodeTime || b.requests - a.requests)
}

function shortened(report: CostReport, { callers, endpoints }: typeof MAX_REPORTED): CostReport {
  const rounded = <Row extends CostCounts>(row: Row): Row => ({ ...row, nodeTime: Math.round(row.nodeTime) })
  const unlisted = report.callers.slice(callers)
  return {
    seconds: report.seconds,
    total: rounded(report.total),
    callers: report.callers.slice(0, callers).map(rounded),
    endpoints: report.endpoints.slice(0, endpoints).map(rounded),
    ...(unlisted.length > 0 && { unlistedPeak: Math.max(...unlisted.map(({ peak }) => peak)) }),
  }
}

/**
 * Proposes a rate limit for the costliest caller, from what was observed. The setting applies to each caller alike.
 * `limit`: the setting `access.limits.requestsPerSecond` now. `peakWithout` returns what every other caller sends in its
 * busiest second at most.
 */
function proposeLimit(
  { seconds, total, callers }: Omit<CostReport, 'endpoints'>,
  limit: number,
  peakWithout: (caller: string) => number,
): Pick<Costs, 'proposal' | 'advice'> {
  const costliest = callers.find((row) => row.caller !== null)
  if (costliest === undefined || costliest.caller === null || costliest.calls === 0)
    return { advice: 'No caller has caused calls to nodes.' }
  const { caller, limited, peak, nodeTime } = costliest
  const share = nodeTime / Math.max(1, total.nodeTime)
  const cost = `${caller} causes ${percent(share)} of the node time`
  if (share < MIN_SHARE)
    return { advice: `${cost}. No caller causes ${percent(MIN_SHARE)} or more, so no limit is proposed.` }
  const mean = limited / seconds
  const otherPeak = peakWithout(caller)
  const others =
    otherPeak === 0 ? '; no other caller sends such requests' : `; every other caller sends ${otherPeak} at most`
  const rates = `It sends ${rate(mean)} requests per second that are no hits, and ${peak} in its busiest second${others}.`
  const proposed = Math.max(1, Math.ceil(MEAN_ROOM * mean), Math.ceil(PEAK_ROOM * otherPeak))
  if (proposed >= limit)
    return {
      advice: `${cost}. ${rates} access.limits.requestsPerSecond is ${limit}, and a lower limit would also hold back other callers or what this one always needs.`,
    }
  if (proposed >= peak)
    return {
      advice: `${cost}. ${rates} No limit would hold back this caller alone: make its reads hits instead, with a longer freshness lifetime (cache.ttl, cache.endpoints) or fewer different URLs.`,
    }
  return {
    proposal: {
      caller,
      requestsPerSecond: proposed,
      settings: `access:\n  limits:\n    requestsPerSecond: ${proposed}\n`,
    },
    advice: `${cost}. ${rates} A limit of ${proposed} spreads its bursts, leaves it half more than it needs on average, and holds back no other caller. Requests above it get 429 with Retry-After. The setting applies to each caller; today it is ${limit}.`,
  }
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`
}

function rate(value: number): string {
  return value < 10 ? value.toFixed(1) : String(Math.round(value))
}
