/** Collect the rows of all agents as they arrive: one page of them, or all. */
import { compileMatching, type Match, type Matching } from '../../../collections/collect.ts'
import { type CollectionRequest, parsePage } from '../../../collections/request.ts'
import { compileProjection, flattenRow } from '../../../collections/select.ts'
import type { DatabaseSource } from '../../../collections/sources.ts'
import type { Row } from '../../../collections/value.ts'
import { inTurns, selectFirst } from '../../../core/long-lists.ts'
import { jsonInTurns } from '../../../core/long-values.ts'

/** Rows that are in memory at once. */
export const MAX_ROWS = 100_000

export interface RowCollector {
  /** The most rows that are needed of each agent, in the order of the call. */
  readonly rowsPerAgent: number
  /** Converts the items in turns. `total`: the number of rows of the agents, of which the call may have returned some only. */
  add(items: readonly unknown[], toRow: (item: unknown) => Row, total: number): Promise<void>
  readonly total: number
  /** Whether the rows are more than can be collected. */
  readonly isExceeded: boolean
  /** Returns the text of the rows for clients, with commas. */
  chunks(): readonly Buffer[] | Promise<readonly Buffer[]>
}

/** The field that each row has besides those of its kind. */
const AGENT = 'agent_id'

function agentOf(row: Row): number {
  return Number(row[AGENT] ?? 0)
}

/** Collects the rows of a page: those that match, sorted, the first ones only. */
export class PageCollector implements RowCollector {
  readonly rowsPerAgent: number
  readonly #offset: number
  readonly #isFiltered: boolean
  readonly #matching: Matching<Row>
  readonly #project: (row: Row) => unknown
  readonly #wanted: number
  #first: readonly Match<Row>[] = []
  total = 0

  /** `isFiltered`: the edge filters, so all rows are needed. Throws CollectionError. */
  constructor(request: CollectionRequest, source: DatabaseSource, isFiltered: boolean) {
    const { offset, limit } = parsePage(request)
    this.#isFiltered = isFiltered
    this.#matching = compileMatching(request, source, [], flattenRow)
    this.#project = compileProjection(request.select, { ...source, alwaysSelected: [AGENT] })
    this.#offset = offset
    this.#wanted = offset + limit
    this.rowsPerAgent = isFiltered ? MAX_ROWS : Math.min(this.#wanted, MAX_ROWS)
  }

  get isExceeded(): boolean {
    return this.#wanted > MAX_ROWS && this.total > MAX_ROWS
  }

  async add(items: readonly unknown[], toRow: (item: unknown) => Row, total: number): Promise<void> {
    const { pick, compare } = this.#matching
    // Rows with equal sort fields have the order of their agents.
    const byAgent: typeof compare = (a, b) => compare(a, b) || agentOf(a.item) - agentOf(b.item)
    const wanted = Math.min(this.#wanted, MAX_ROWS)
    const found = await selectFirst(items, (item) => pick(toRow(item)), byAgent, wanted, this.#first)
    this.total += this.#isFiltered ? found.total : total
    this.#first = found.first
  }

  async chunks(): Promise<readonly Buffer[]> {
    const page = this.#first.slice(this.#offset).map(({ item }) => this.#project(flattenRow(item)))
    return [(await jsonInTurns(page)).subarray(1, -1)]
  }
}

const COMMA = Buffer.from(',')

export class AllRowsCollector implements RowCollector {
  readonly rowsPerAgent: number
  readonly #chunks: Buffer[] = []
  total = 0

  /** `maxRows`: with more rows there is no result. */
  constructor(maxRows: number) {
    this.rowsPerAgent = Math.min(maxRows, MAX_ROWS)
  }

  get isExceeded(): boolean {
    return this.total > this.rowsPerAgent
  }

  async add(items: readonly unknown[], toRow: (item: unknown) => Row, total: number): Promise<void> {
    this.total += total
    const rows: Row[] = []
    for await (const part of inTurns(items)) for (const item of part) rows.push(toRow(item))
    if (rows.length === 0) return
    const list = await jsonInTurns(rows.sort((a, b) => agentOf(a) - agentOf(b)))
    if (this.#chunks.length > 0) this.#chunks.push(COMMA)
    this.#chunks.push(list.subarray(1, -1))
  }

  chunks(): readonly Buffer[] {
    return this.isExceeded ? [] : this.#chunks
  }
}
