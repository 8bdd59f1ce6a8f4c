/** Node time by caller and endpoint over the last minutes: which requests caused which calls. Bounded in size. */
import { Type } from 'typebox'
import { type EventListeners, type NodeCallEvent, type RequestEvent, wasSent } from '../../core/events.ts'
import { validatorOf } from '../validation.ts'
import { NOT_SIGNED_IN, OTHERS, shortenName } from './caller-names.ts'
import type { CallerCost, CostCounts, CostReport, Costs, EndpointCost } from './cost-types.ts'
import { proposeLimit } from './limit-proposal.ts'

export interface ConsoleCosts {
  readonly listeners: Required<Pick<EventListeners, 'request' | 'nodeCall'>>
  /** Returns what other replicas need. */
  report(): CostReport
  /** Takes what the others reported. Undefined: Redis is unreachable. Reports that are not valid are skipped. */
  offer(reports: readonly unknown[] | undefined): void
  /** Returns the sums of all replicas. */
  read(): Costs
}

export interface CostsOptions {
  readonly requests: { drain(): void }
  /** Returns the setting `access.limits.requestsPerSecond`. */
  readonly limit: () => number
  /** Milliseconds since 1970. */
  readonly now?: () => number
}

const MINUTE_MS = 60_000
const MINUTES = 10
/** Pairs of a caller and an endpoint in one minute. Further callers count together. */
const MAX_PAIRS = 2000
/** A longer name would make the report too long for the other replicas. */
const MAX_NAME_CHARS = 120
/** Calls of requests in progress, and requests that have ended and may still cause calls. */
const MAX_REMEMBERED = 5000
/** Longer than a request may take. Later, no request claims the calls any more. */
const UNCLAIMED_AFTER_MS = 180_000
const MAX_REPORTED = { callers: 15, endpoints: 30 }
const MAX_SHOWN = { callers: 50, endpoints: 100 }

type Mutable<T> = { -readonly [Name in keyof T]: T[Name] }
type Counts = Mutable<CostCounts>
/** Names an endpoint. Its text is built once for each cell, since it would cost a hit more than the rest of the count. */
type Endpoint = Pick<RequestEvent, 'method' | 'route'>
/** The requests of a caller to an endpoint in one minute. */
interface Cell {
  readonly caller: CallerCell
  readonly method: string
  readonly endpoint: string
  readonly counts: Counts
}
interface CallerCell {
  /** The cells of each route: one for each method. */
  readonly routes: Map<string, Cell[]>
  limited: number
  peak: number
  /** The current second and its number of limited requests. */
  second: number
  inSecond: number
}
interface Minute {
  readonly at: number
  readonly callers: Map<string | null, CallerCell>
  pairs: number
}
type CallCounts = Pick<Counts, 'calls' | 'nodeTime'>
interface Pending extends Endpoint, CallCounts {
  readonly since: number
}
interface EndedRequest extends Endpoint {
  readonly caller: string
}

/** The counts of the last minutes. */
class CostMinutes {
  readonly #minutes: (Minute | undefined)[] = new Array(MINUTES + 1).fill(undefined)

  /** Returns what is counted of the requests of a caller to an endpoint in the minute of `wall`. */
  cellOf(wall: number, caller: string | null, endpoint: Endpoint): Cell {
    const minute = this.#minuteOf(wall)
    const known = findCell(minute, caller, endpoint)
    if (known !== undefined) return known
    if (minute.pairs < MAX_PAIRS) return addCell(minute, caller, endpoint, `${endpoint.method} ${endpoint.route}`)
    const others = { method: OTHERS, route: OTHERS }
    return findCell(minute, OTHERS, others) ?? addCell(minute, OTHERS, others, OTHERS)
  }

  /** Returns the rows of the minutes after this one. */
  rowsAfter(oldest: number): Pick<CostReport, 'callers' | 'endpoints'> {
    const counted = this.#minutes.filter((minute) => minute !== undefined && minute.at > oldest) as Minute[]
    const rows = counted.flatMap(({ callers }) =>
      [...callers].map(([caller, { routes, limited, peak }]) => ({
        caller: caller && shortenName(caller, MAX_NAME_CHARS),
        cells: [...routes.values()].flat(),
        limited,
        peak,
      })),
    )
    return {
      callers: rows.map(({ cells, ...row }) => ({ ...row, ...sumOf(cells.map(({ counts }) => counts)) })),
      endpoints: rows.flatMap(({ caller, cells }) =>
        cells.map(({ endpoint, counts }) => ({ caller, endpoint, ...counts })),
      ),
    }
  }

  #minuteOf(wall: number): Minute {
    const at = Math.floor(wall / MINUTE_MS)
    const known = this.#minutes[at % this.#minutes.length]
    if (known?.at === at) return known
    const minute: Minute = { at, callers: new Map(), pairs: 0 }
    this.#minutes[at % this.#minutes.length] = minute
    return minute
  }
}

function findCell({ callers }: Minute, caller: string | null, { method, route }: Endpoint): Cell | undefined {
  const cells = callers.get(caller)?.routes.get(route)
  if (cells === undefined) return undefined
  for (const cell of cells) if (cell.method === method) return cell
  return undefined
}

function addCell(minute: Minute, name: string | null, { method, route }: Endpoint, endpoint: string): Cell {
  const caller = minute.callers.get(name) ?? { routes: new Map(), limited: 0, peak: 0, second: 0, inSecond: 0 }
  minute.callers.set(name, caller)
  const cell = { caller, method, endpoint, counts: emptyCounts() }
  caller.routes.set(route, [...(caller.routes.get(route) ?? []), cell])
  minute.pairs += 1
  return cell
}

/** Finds the request that caused a call: calls end before their request, and those of a refresh in the background after it. */
class CallsOfRequests {
  /** Calls of requests that have not ended, oldest first. */
  readonly #pending = new Map<string, Pending>()
  readonly #ended = new Map<string, EndedRequest>()
  readonly #now: () => number
  readonly #onUnclaimed: (calls: Pending) => void

  /** `onUnclaimed`: receives calls that no request has claimed: those of the edge itself. */
  constructor(now: () => number, onUnclaimed: (calls: Pending) => void) {
    this.#now = now
    this.#onUnclaimed = onUnclaimed
  }

  /** Returns the calls of a request that ends now. Later ones belong to it too. */
  end(requestId: string, request: EndedRequest): CallCounts | undefined {
    const calls = this.#pending.get(requestId)
    this.#pending.delete(requestId)
    this.#ended.set(requestId, request)
    const [oldest] = this.#ended.keys()
    if (this.#ended.size > MAX_REMEMBERED && oldest !== undefined) this.#ended.delete(oldest)
    return calls
  }

  /** Returns the request of a call if it has ended. Otherwise the call is remembered for its end. */
  add({ requestId, method, route, ms }: NodeCallEvent): EndedRequest | undefined {
    const request = this.#ended.get(requestId)
    if (request !== undefined) return request
    const known = this.#pending.get(requestId)
    if (known !== undefined) {
      known.calls += 1
      known.nodeTime += ms
      return undefined
    }
    this.#pending.set(requestId, { since: this.#now(), method, route, calls: 1, nodeTime: ms })
    this.giveUpOld()
    return undefined
  }

  giveUpOld(): void {
    for (const [id, calls] of this.#pending) {
      if (this.#pending.size <= MAX_REMEMBERED && this.#now() - calls.since < UNCLAIMED_AFTER_MS) break
      this.#pending.delete(id)
      this.#onUnclaimed(calls)
    }
  }
}

export function createCosts({ requests, limit, now = Date.now }: CostsOptions): ConsoleCosts {
  const startedAt = now()
  const minutes = new CostMinutes()
  let others: readonly CostReport[] = []
  const addCalls = (caller: string | null, endpoint: Endpoint, calls: CallCounts): void =>
    addCallCounts(minutes.cellOf(now(), caller, endpoint).counts, calls)
  const calls = new CallsOfRequests(now, (unclaimed) => addCalls(null, unclaimed, unclaimed))
  const countAll = (): CostReport => {
    requests.drain()
    calls.giveUpOld()
    const oldest = Math.floor(now() / MINUTE_MS) - MINUTES
    const { callers, endpoints } = minutes.rowsAfter(oldest)
    // The running minute is one of them.
    const seconds = Math.min(now() - startedAt, now() - (oldest + 1) * MINUTE_MS) / 1000
    return combine(Math.max(1, Math.round(seconds)), callers, endpoints, Math.max)
  }

  return {
    listeners: {
      request: (event) => {
        const { at, requestId, cache, caller = NOT_SIGNED_IN, rejectedWith } = event
        const cell = minutes.cellOf(at, caller, event)
        const { counts } = cell
        counts.requests += 1
        if (cache === 'hit' || cache === 'stale') counts.hits += 1
        else if (rejectedWith === undefined) countLimited(cell.caller, at)
        if (cache === 'hit') return
        // The event itself is used again for a later request.
        const caused = calls.end(requestId, { caller, method: event.method, route: event.route })
        if (caused !== undefined) addCallCounts(counts, caused)
      },
      nodeCall: (call) => {
        if (!wasSent(call)) return
        const request = calls.add(call)
        if (request !== undefined) addCalls(request.caller, request, { calls: 1, nodeTime: call.ms })
      },
    },
    report: () => shortened(countAll(), MAX_REPORTED),
    offer: (reports = []) => {
      others = reports.filter(isCostReport) as CostReport[]
    },
    read: () => {
      const all = [countAll(), ...others]
      const sum = addReports(all)
      const { unlistedPeak: _, ...shown } = shortened(sum, MAX_SHOWN)
      return { ...shown, replicas: all.length, ...proposeLimit(sum, limit(), (caller) => greatestPeak(all, caller)) }
    },
  }
}

function countLimited(caller: CallerCell, at: number): void {
  const second = Math.floor(at / 1000)
  if (caller.second !== second) {
    caller.second = second
    caller.inSecond = 0
  }
  caller.inSecond += 1
  caller.limited += 1
  caller.peak = Math.max(caller.peak, caller.inSecond)
}

function addReports(reports: readonly CostReport[]): CostReport {
  const seconds = Math.max(...reports.map((report) => report.seconds))
  const callers = reports.flatMap((report) => report.callers)
  const endpoints = reports.flatMap((report) => report.endpoints)
  const sum = combine(seconds, callers, endpoints, (a, b) => a + b)
  return { ...sum, total: sumOf(reports.map(({ total }) => total)) }
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

/** Adds the rows with the same names, and puts the costliest ones first. */
function combine(
  seconds: number,
  callers: readonly CallerCost[],
  endpoints: readonly EndpointCost[],
  peakOf: (a: number, b: number) => number,
): CostReport {
  const byCaller = new Map<string | null, Mutable<CallerCost>>()
  for (const row of callers) {
    const known = byCaller.get(row.caller)
    if (known === undefined) byCaller.set(row.caller, { ...row })
    else {
      addCounts(known, row)
      known.limited += row.limited
      known.peak = peakOf(known.peak, row.peak)
    }
  }
  const byPair = new Map<string, Mutable<EndpointCost>>()
  for (const row of endpoints) {
    const key = JSON.stringify([row.caller, row.endpoint])
    const known = byPair.get(key)
    if (known === undefined) byPair.set(key, { ...row })
    else addCounts(known, row)
  }
  const order = (a: CostCounts, b: CostCounts) => b.nodeTime - a.nodeTime || b.requests - a.requests
  const sorted = [...byCaller.values()].sort(order)
  return { seconds, total: sumOf(sorted), callers: sorted, endpoints: [...byPair.values()].sort(order) }
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

function emptyCounts(): Counts {
  return { requests: 0, hits: 0, calls: 0, nodeTime: 0 }
}

function addCallCounts(target: Counts, { calls, nodeTime }: CallCounts): void {
  target.calls += calls
  target.nodeTime += nodeTime
}

function addCounts(target: Counts, added: CostCounts): void {
  target.requests += added.requests
  target.hits += added.hits
  addCallCounts(target, added)
}

function sumOf(counts: readonly CostCounts[]): CostCounts {
  const sum = emptyCounts()
  for (const each of counts) addCounts(sum, each)
  return sum
}

const count = Type.Number({ minimum: 0 })
const counts = { requests: count, hits: count, calls: count, nodeTime: count }
const caller = Type.Union([Type.String({ maxLength: MAX_NAME_CHARS }), Type.Null()])
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
