/** Node time by caller and endpoint over the last minutes: which requests caused which calls. Bounded in size. */
import { Type } from 'typebox'
import { type EventListeners, wasSent } from '../../core/events.ts'
import { validatorOf } from '../validation.ts'
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
const OTHERS = 'others'
/** Calls of requests in progress, and requests that have ended and may still cause calls. */
const MAX_REMEMBERED = 5000
/** Longer than a request may take. Later, no request claims the calls any more. */
const UNCLAIMED_AFTER_MS = 180_000
const MAX_REPORTED = { callers: 15, endpoints: 30 }
const MAX_SHOWN = { callers: 50, endpoints: 100 }

type Mutable<T> = { -readonly [Name in keyof T]: T[Name] }
type Cell = Mutable<CostCounts>
interface CallerCell {
  readonly endpoints: Map<string, Cell>
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
interface Pending {
  readonly since: number
  readonly endpoint: string
  calls: number
  nodeTime: number
}

/** The counts of the last minutes. */
class CostMinutes {
  readonly #minutes: (Minute | undefined)[] = new Array(MINUTES + 1).fill(undefined)

  /** Returns what is counted of a caller, and of its requests to an endpoint, in the minute of `wall`. */
  cellsOf(wall: number, name: string | null, endpoint: string): readonly [CallerCell, Cell] {
    const minute = this.#minuteOf(wall)
    const isFull = minute.pairs >= MAX_PAIRS && !minute.callers.get(name)?.endpoints.has(endpoint)
    const caller = isFull ? OTHERS : name
    let cells = minute.callers.get(caller)
    if (cells === undefined) {
      cells = { endpoints: new Map(), limited: 0, peak: 0, second: 0, inSecond: 0 }
      minute.callers.set(caller, cells)
    }
    const key = isFull ? OTHERS : endpoint
    let cell = cells.endpoints.get(key)
    if (cell === undefined) {
      cell = emptyCounts()
      cells.endpoints.set(key, cell)
      minute.pairs += 1
    }
    return [cells, cell]
  }

  /** Returns the rows of the minutes after this one. */
  rowsAfter(oldest: number): Pick<CostReport, 'callers' | 'endpoints'> {
    const counted = this.#minutes.filter((minute) => minute !== undefined && minute.at > oldest) as Minute[]
    const endpoints = counted.flatMap(({ callers }) =>
      [...callers].flatMap(([caller, cells]) =>
        [...cells.endpoints].map(([endpoint, cell]) => ({ caller, endpoint, ...cell })),
      ),
    )
    const callers = counted.flatMap(({ callers }) =>
      [...callers].map(([caller, { endpoints, limited, peak }]) => {
        return { caller, ...sumOf([...endpoints.values()]), limited, peak }
      }),
    )
    return { callers, endpoints }
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

export function createCosts({ requests, limit, now = Date.now }: CostsOptions): ConsoleCosts {
  const startedAt = now()
  const minutes = new CostMinutes()
  const pending = new Map<string, Pending>()
  const ended = new Map<string, { readonly caller: string; readonly endpoint: string }>()
  let others: readonly CostReport[] = []

  const addCalls = (
    caller: string | null,
    endpoint: string,
    { calls, nodeTime }: Pick<Pending, 'calls' | 'nodeTime'>,
  ) => {
    const [, cell] = minutes.cellsOf(now(), caller, endpoint)
    cell.calls += calls
    cell.nodeTime += nodeTime
  }
  /** Calls that no request has claimed are those of the edge itself. */
  const giveUpOld = (): void => {
    for (const [id, calls] of pending) {
      if (pending.size <= MAX_REMEMBERED && now() - calls.since < UNCLAIMED_AFTER_MS) break
      pending.delete(id)
      addCalls(null, calls.endpoint, calls)
    }
  }
  const countAll = (): CostReport => {
    requests.drain()
    giveUpOld()
    const oldest = Math.floor(now() / MINUTE_MS) - MINUTES
    const { callers, endpoints } = minutes.rowsAfter(oldest)
    // The running minute is one of them.
    const seconds = Math.min(now() - startedAt, now() - (oldest + 1) * MINUTE_MS) / 1000
    return combine(Math.max(1, Math.round(seconds)), callers, endpoints, Math.max)
  }

  return {
    listeners: {
      request: ({ at, requestId, method, route, cache, caller = 'not signed in', rejectedWith }) => {
        const endpoint = `${method} ${route}`
        const [cells, cell] = minutes.cellsOf(at, caller, endpoint)
        cell.requests += 1
        if (cache === 'hit' || cache === 'stale') cell.hits += 1
        else if (rejectedWith === undefined) countLimited(cells, at)
        if (cache === 'hit') return
        const calls = pending.get(requestId)
        if (calls !== undefined) {
          pending.delete(requestId)
          cell.calls += calls.calls
          cell.nodeTime += calls.nodeTime
        }
        // A refresh in the background follows.
        ended.set(requestId, { caller, endpoint })
        const [oldest] = ended.keys()
        if (ended.size > MAX_REMEMBERED && oldest !== undefined) ended.delete(oldest)
      },
      nodeCall: (call) => {
        if (!wasSent(call)) return
        const { requestId, method, route, ms } = call
        const request = ended.get(requestId)
        if (request !== undefined) return addCalls(request.caller, request.endpoint, { calls: 1, nodeTime: ms })
        const known = pending.get(requestId)
        if (known !== undefined) {
          known.calls += 1
          known.nodeTime += ms
          return
        }
        pending.set(requestId, { since: now(), endpoint: `${method} ${route}`, calls: 1, nodeTime: ms })
        giveUpOld()
      },
    },
    report: () => shortened(countAll(), MAX_REPORTED),
    offer: (reports = []) => {
      others = reports.filter(isCostReport) as CostReport[]
    },
    read: () => {
      const all = [countAll(), ...others]
      const sum = addReports(all)
      return { ...shortened(sum, MAX_SHOWN), replicas: all.length, ...proposeLimit(sum, limit()) }
    },
  }
}

function countLimited(cells: CallerCell, at: number): void {
  const second = Math.floor(at / 1000)
  if (cells.second !== second) {
    cells.second = second
    cells.inSecond = 0
  }
  cells.inSecond += 1
  cells.limited += 1
  cells.peak = Math.max(cells.peak, cells.inSecond)
}

function addReports(reports: readonly CostReport[]): CostReport {
  const seconds = Math.max(...reports.map((report) => report.seconds))
  const callers = reports.flatMap((report) => report.callers)
  const endpoints = reports.flatMap((report) => report.endpoints)
  const sum = combine(seconds, callers, endpoints, (a, b) => a + b)
  return { ...sum, total: sumOf(reports.map(({ total }) => total)) }
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
  return {
    seconds: report.seconds,
    total: rounded(report.total),
    callers: report.callers.slice(0, callers).map(rounded),
    endpoints: report.endpoints.slice(0, endpoints).map(rounded),
  }
}

function emptyCounts(): Cell {
  return { requests: 0, hits: 0, calls: 0, nodeTime: 0 }
}

function addCounts(target: Cell, { requests, hits, calls, nodeTime }: CostCounts): void {
  target.requests += requests
  target.hits += hits
  target.calls += calls
  target.nodeTime += nodeTime
}

function sumOf(counts: readonly CostCounts[]): CostCounts {
  const sum = emptyCounts()
  for (const each of counts) addCounts(sum, each)
  return sum
}

const count = Type.Number({ minimum: 0 })
const counts = { requests: count, hits: count, calls: count, nodeTime: count }
const caller = Type.Union([Type.String({ maxLength: 300 }), Type.Null()])
/** Other programs may write to this Redis, so a report is validated before it is used. */
const isCostReport = validatorOf(
  Type.Object({
    seconds: count,
    total: Type.Object(counts),
    callers: Type.Array(Type.Object({ caller, ...counts, limited: count, peak: count }), { maxItems: 100 }),
    endpoints: Type.Array(Type.Object({ caller, endpoint: Type.String({ maxLength: 300 }), ...counts }), {
      maxItems: 100,
    }),
  }),
)
