/**
 * The agents of a read over all agents, in lists that one call can take, and what becomes of their rows: one page, or
 * all rows in parts. Rows arrive list by list, in the order of the agents' numbers, and those of one agent in the order
 * of the call.
 */
import { selectFirst, waitForJsonTurn } from '../../../../core/turns.ts'
import { compileMatching, type Match, type Matching } from '../../../../query/collect.ts'
import { type CollectionRequest, parsePage } from '../../../../query/request.ts'
import { compileProjection, flattenRow } from '../../../../query/select.ts'
import type { DatabaseSource } from '../../../../query/sources.ts'
import type { Row } from '../../../../query/value.ts'
import { BYTES_PER_PART, PartWriter } from '../../../../rows/page-writer.ts'
import { encode } from '../../dialect.ts'
import { MAX_REQUEST_LINE } from '../request-line.ts'

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

/** Collects the rows of a page: those that match, sorted, the first ones only. */
export class PageCollector implements RowCollector {
  readonly rowsPerAgent: number
  readonly #offset: number
  readonly #isFiltered: boolean
  readonly #matching: Matching<Row>
  readonly #project: (row: Row) => unknown
  readonly #wanted: number
  #first: readonly Match<Row>[] = []
  #total = 0

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

  get total(): number {
    return this.#total
  }

  get isExceeded(): boolean {
    return this.#wanted > MAX_ROWS && this.#total > MAX_ROWS
  }

  async add(rows: readonly Row[], total: number): Promise<void> {
    const { pick, compare } = this.#matching
    // Rows with equal sort fields have the order of their agents.
    const byAgent: typeof compare = (a, b) => compare(a, b) || agentOf(a.item) - agentOf(b.item)
    const found = await selectFirst(rows, pick, byAgent, Math.min(this.#wanted, MAX_ROWS), this.#first)
    this.#total += this.#isFiltered ? found.total : total
    this.#first = found.first
  }

  /** Returns the rows of the page, as clients get them. */
  page(): readonly unknown[] {
    return this.#first.slice(this.#offset).map(({ item }) => this.#project(flattenRow(item)))
  }
}

/** Collects all rows in parts. */
export class AllRowsCollector implements RowCollector {
  readonly rowsPerAgent: number
  readonly #writer = new PartWriter()
  #total = 0

  /** `maxRows`: with more rows there is no result. */
  constructor(maxRows: number) {
    this.rowsPerAgent = Math.min(maxRows, MAX_ROWS)
  }

  get parts(): readonly Buffer[] {
    return this.#writer.end()
  }

  get total(): number {
    return this.#total
  }

  get isExceeded(): boolean {
    return this.#total > this.rowsPerAgent
  }

  async add(rows: readonly Row[], total: number): Promise<void> {
    this.#total += total
    for (const row of rows.toSorted((a, b) => agentOf(a) - agentOf(b))) {
      if (this.#writer.add(Buffer.from(JSON.stringify(row)))) await waitForJsonTurn(BYTES_PER_PART)
    }
  }
}

/** The most ids in a list. */
const MAX_AGENTS_PER_CALL = 2000
/** A node reads some thousand rows in the ten seconds that it works on a call. */
const ROWS_PER_CALL = 5000
/** How many rows each agent may have, before the first response. */
const EXPECTED_ROWS = 100

const SEPARATOR_BYTES = encode(',').length

interface AgentListOptions {
  /** In the order of their numbers. */
  readonly ids: readonly string[]
  /** The most rows that a call asks of each agent. */
  readonly rowsPerAgent: number
  /** The bytes of the request line without ids. */
  readonly lineBytes: number
}

/** Divides the agents into lists. Their size depends on how many rows the agents of earlier lists had. */
export class AgentLists {
  readonly #ids: readonly string[]
  readonly #rowsPerAgent: number
  readonly #maxBytes: number
  #at = 0
  #agents = 0
  #rows = 0

  constructor({ ids, rowsPerAgent, lineBytes }: AgentListOptions) {
    this.#ids = ids
    this.#rowsPerAgent = rowsPerAgent
    this.#maxBytes = MAX_REQUEST_LINE - lineBytes
  }

  /** Agents in no list yet. */
  get remaining(): number {
    return this.#ids.length - this.#at
  }

  /** Returns the next list; empty: there are no more agents. */
  next(): readonly string[] {
    const from = this.#at
    const most = Math.min(this.#ids.length, from + this.#agentsPerCall)
    let bytes = 0
    while (this.#at < most) {
      bytes += encode(this.#ids[this.#at] ?? '').length + SEPARATOR_BYTES
      if (bytes > this.#maxBytes && this.#at > from) break
      this.#at += 1
    }
    return this.#ids.slice(from, this.#at)
  }

  /** To be called with the number of rows that a list of agents had. */
  noteRows(agents: number, rows: number): void {
    this.#agents += agents
    this.#rows += rows
  }

  /** About how many calls the remaining agents need; 0 before the first response. */
  get expectedCalls(): number {
    return this.#agents === 0 ? 0 : Math.ceil(this.remaining / this.#agentsPerCall)
  }

  get #agentsPerCall(): number {
    const average = this.#agents === 0 ? EXPECTED_ROWS : Math.max(1, this.#rows / this.#agents)
    const rows = Math.min(average, this.#rowsPerAgent)
    return Math.max(1, Math.min(MAX_AGENTS_PER_CALL, Math.floor(ROWS_PER_CALL / rows)))
  }
}
