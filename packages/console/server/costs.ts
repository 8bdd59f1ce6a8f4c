/** What the requests of the last minutes cost the nodes, by caller and endpoint. */
import { Type } from 'typebox'
import { validatorOf } from '../../../src/status/validation.ts'
import { type CallerCounts, shortenName, sumOf } from './caller-counts.ts'
import type { CallerCost, CostCounts, Costs, EndpointCost } from './request-types.ts'

/** A longer name would make the report too long for the other replicas. */
const MAX_NAME_CHARS = 120
const MAX_REPORTED = { callers: 15, endpoints: 30 }
const MAX_SHOWN = { callers: 50, endpoints: 100 }

const count = Type.Number({ minimum: 0 })
const counts = { requests: count, hits: count, calls: count, nodeTime: count }
const caller = Type.Union([Type.String({ maxLength: MAX_NAME_CHARS }), Type.Null()])
/** What one replica counted, as replicas report it to each other. */
type CostReport = Omit<Costs, 'replicas'>
/** Other programs may write to this Redis, so a report is validated before it is used. */
const isCostReport = validatorOf(
  Type.Object({
    seconds: count,
    total: Type.Object(counts),
    callers: Type.Array(Type.Object({ caller, ...counts }), { maxItems: 100 }),
    endpoints: Type.Array(Type.Object({ caller, endpoint: Type.String({ maxLength: 300 }), ...counts }), {
      maxItems: 100,
    }),
  }),
)

export class ConsoleCosts {
  readonly #requests: { drain(): void }
  readonly #counts: Pick<CallerCounts, 'rows'>
  #others: readonly CostReport[] = []

  constructor(requests: { drain(): void }, counts: Pick<CallerCounts, 'rows'>) {
    this.#requests = requests
    this.#counts = counts
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
    return { ...shortened({ ...combine(seconds, callers, endpoints), total }, MAX_SHOWN), replicas: all.length }
  }

  #countOwn(): CostReport {
    this.#requests.drain()
    const { seconds, callers, endpoints } = this.#counts.rows()
    const named = <Row extends { readonly caller: string | null }>(row: Row): Row => ({
      ...row,
      caller: row.caller && shortenName(row.caller, MAX_NAME_CHARS),
    })
    return combine(seconds, callers.map(named), endpoints.map(named))
  }
}

function combine(seconds: number, callers: readonly CallerCost[], endpoints: readonly EndpointCost[]): CostReport {
  const sums = addRows(callers, ({ caller }) => caller)
  const pairs = addRows(endpoints, ({ caller, endpoint }) => JSON.stringify([caller, endpoint]))
  return { seconds, total: sumOf(sums), callers: sums, endpoints: pairs }
}

/** Adds the rows with the same key, and puts the costliest ones first. */
function addRows<Row extends CostCounts>(rows: readonly Row[], keyOf: (row: Row) => string | null): readonly Row[] {
  const sums = new Map<string | null, Row>()
  for (const row of rows) {
    const known = sums.get(keyOf(row))
    sums.set(keyOf(row), known === undefined ? row : { ...known, ...sumOf([known, row]) })
  }
  return [...sums.values()].sort((a, b) => b.nodeTime - a.nodeTime || b.requests - a.requests)
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
