/**
 * What becomes of the rows of all agents: one page, or all rows in parts. Rows arrive list by list, in the order of the
 * agents' numbers, and those of one agent in the order of the call.
 */
import { type Compare, selectFirst } from '../../../../core/in-turns.ts'
import { waitForJsonTurn } from '../../../../core/json-turns.ts'
import { compileRowPredicates } from '../../../../query/collect.ts'
import { parseSorting, type Sorting, sortedValue } from '../../../../query/order.ts'
import { type CollectionRequest, parsePage } from '../../../../query/request.ts'
import { compileProjection, flattenRow } from '../../../../query/select.ts'
import type { DatabaseSource } from '../../../../query/sources.ts'
import { compareSortValues, type Row, type SortValue } from '../../../../query/value.ts'
import { BYTES_PER_PART, ROW_SEPARATOR } from '../../../../rows/parts.ts'

/** Rows that are in memory at once. */
export const MAX_ROWS = 100_000

export interface RowCollector {
  /** The most rows that are needed of each agent, in the order of the call. */
  readonly rowsPerAgent: number
  /** `total`: the number of rows of the agents, of which the call may have returned some only. */
  add(rows: readonly Row[], total: number): Promise<void>
  readonly total: number
  /** Whether the rows are more than can be collected. */
  readonly isExceeded: boolean
}

/** The field that each row has besides those of its kind. */
const AGENT = 'agent_id'

function agentOf(row: Row): number {
  return Number(row[AGENT] ?? 0)
}

interface Match {
  readonly row: Row
  readonly by: readonly SortValue[]
}

/** Collects the rows of a page: those that match, sorted, the first ones only. */
export class PageCollector implements RowCollector {
  readonly rowsPerAgent: number
  readonly #offset: number
  readonly #matches: (row: Row) => boolean
  readonly #isFiltered: boolean
  readonly #sorting: Sorting | undefined
  readonly #compare: Compare<Match>
  readonly #project: (row: Row) => unknown
  readonly #wanted: number
  #first: readonly Match[] = []
  #total = 0

  /** `isFiltered`: the edge filters, so all rows are needed. Throws CollectionError. */
  constructor(request: CollectionRequest, source: DatabaseSource, isFiltered: boolean) {
    const { offset, limit } = parsePage(request)
    const predicates = isFiltered ? compileRowPredicates(request, source) : []
    this.#matches = (row) => predicates.every((test) => test(row))
    this.#isFiltered = isFiltered
    this.#sorting = parseSorting(request.sort, source, [])
    this.#compare = comparatorOf(this.#sorting)
    this.#project = compileProjection(request.select, { ...source, alwaysSelected: [AGENT] })
    this.#offset = offset
    this.#wanted = offset + limit
    this.rowsPerAgent = isFiltered ? MAX_ROWS : Math.min(this.#wanted, MAX_ROWS)
  }

  get total(): number {
    return this.#total
  }

  get isExceeded(): boolean {
    return this.#wanted > MAX_ROWS && this.#total > MAX_ROWS
  }

  async add(rows: readonly Row[], total: number): Promise<void> {
    const pick = (item: Row | Match): Match | undefined => ('by' in item ? (item as Match) : this.#pick(item))
    const count = Math.min(this.#wanted, MAX_ROWS)
    const { first, total: found } = await selectFirst([...this.#first, ...rows], pick, this.#compare, count)
    this.#total += this.#isFiltered ? found - this.#first.length : total
    this.#first = first
  }

  #pick(nested: Row): Match | undefined {
    const row = flattenRow(nested)
    if (!this.#matches(row)) return undefined
    const by = this.#sorting?.fields.map(({ field, toSortValue }) => toSortValue(sortedValue(row, field))) ?? []
    return { row, by }
  }

  /** Returns the rows of the page, as clients get them. */
  page(): readonly unknown[] {
    return this.#first.slice(this.#offset).map(({ row }) => this.#project(row))
  }
}

/** Rows with equal sort fields have the order of their agents. */
function comparatorOf(sorting: Sorting | undefined): Compare<Match> {
  const { sign, fields } = sorting ?? { sign: 1, fields: [] }
  return (a, b) => {
    for (let at = 0; at < fields.length; at += 1) {
      const order = compareSortValues(a.by[at], b.by[at])
      if (order !== 0) return sign * order
    }
    return agentOf(a.row) - agentOf(b.row)
  }
}

/** Collects all rows as text, as of rows/parts.ts. */
export class AllRowsCollector implements RowCollector {
  readonly rowsPerAgent: number
  readonly parts: Buffer[] = []
  #total = 0

  /** `maxRows`: with more rows there is no result. */
  constructor(maxRows: number) {
    this.rowsPerAgent = Math.min(maxRows, MAX_ROWS)
  }

  get total(): number {
    return this.#total
  }

  get isExceeded(): boolean {
    return this.#total > this.rowsPerAgent
  }

  async add(rows: readonly Row[], total: number): Promise<void> {
    this.#total += total
    let lines: string[] = []
    let length = 0
    const endPart = () => {
      if (lines.length > 0) this.parts.push(Buffer.from(`[${lines.join(ROW_SEPARATOR)}]`))
      lines = []
      length = 0
    }
    for (const row of rows.toSorted((a, b) => agentOf(a) - agentOf(b))) {
      const line = JSON.stringify(row)
      lines.push(line)
      length += line.length
      if (length < BYTES_PER_PART) continue
      endPart()
      await waitForJsonTurn(BYTES_PER_PART)
    }
    endPart()
  }
}
