/** The agents of a read over all agents, in lists that one call can take. */
import { encode } from '../../dialect.ts'
import { MAX_REQUEST_LINE } from '../request-line.ts'

/** The most ids in a list. */
const MAX_AGENTS_PER_CALL = 2000
/** A node reads some thousand rows in the ten seconds that it works on a call. */
const ROWS_PER_CALL = 5000
/** How many rows each agent may have, before the first response. */
const EXPECTED_ROWS = 100

const SEPARATOR_BYTES = encode(',').length

export interface AgentListOptions {
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
