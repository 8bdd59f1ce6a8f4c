/** The agents of a read of all agents, and the lists in which it names them. */
import type { Row } from '../../../collections/value.ts'
import { CONNECTED_AGENTS } from '../call.ts'
import type { Conversation } from '../conversation.ts'
import { chunksOf, MAX_IDS, MAX_REQUEST_LINE } from '../request-line.ts'

/** Returns the ids that the request names, or those of all agents that may have an inventory, by number. */
export async function readAgentIds(conversation: Conversation): Promise<readonly string[]> {
  const { query } = conversation.request
  if (query.agent_id !== undefined) return byNumber(query.agent_id.split(','))
  const agents = await conversation.readAgents({ ...CONNECTED_AGENTS, ...conversation.waiting })
  return byNumber(agents.map((row) => String((row as Row).id)))
}

/** Nodes list their agents in this order. */
function byNumber(ids: readonly string[]): readonly string[] {
  const isOrdered = ids.every((id, at) => at === 0 || Number(ids[at - 1]) < Number(id))
  return isOrdered ? ids : [...new Set(ids)].sort((a, b) => Number(a) - Number(b))
}

/** A node reads some thousand rows in the ten seconds that it works on a call. */
const ROWS_PER_CALL = 5000
/** How many rows each agent may have, before the first response. */
const EXPECTED_ROWS = 100

/** Divides the agents into lists, whose size depends on how many rows the agents of earlier lists had. */
export class AgentLists {
  readonly #ids: readonly string[]
  readonly #rowsPerAgent: number
  readonly #maxBytes: number
  #at = 0
  #agents = 0
  #rows = 0

  /**
   * `ids`: in the order of their numbers. `rowsPerAgent`: the most rows that a call asks of each agent. `lineBytes`: the
   * bytes of the request line without ids.
   */
  constructor(ids: readonly string[], rowsPerAgent: number, lineBytes: number) {
    this.#ids = ids
    this.#rowsPerAgent = rowsPerAgent
    this.#maxBytes = MAX_REQUEST_LINE - lineBytes
  }

  /** The number of agents in all lists so far. */
  get at(): number {
    return this.#at
  }

  /** Returns the next list; empty: there are no more agents. */
  next(): readonly string[] {
    const [list] = chunksOf(this.#ids.slice(this.#at, this.#at + this.#agentsPerCall), this.#maxBytes)
    const ids = list?.split(',') ?? []
    this.#at += ids.length
    return ids
  }

  /** To be called with the number of rows that a list of agents had. */
  noteRows(agents: number, rows: number): void {
    this.#agents += agents
    this.#rows += rows
  }

  /** About how many calls the remaining agents need; 0 before the first response. */
  get expectedCalls(): number {
    return this.#agents === 0 ? 0 : Math.ceil((this.#ids.length - this.#at) / this.#agentsPerCall)
  }

  get #agentsPerCall(): number {
    const average = this.#agents === 0 ? EXPECTED_ROWS : Math.max(1, this.#rows / this.#agents)
    const rows = Math.min(average, this.#rowsPerAgent)
    return Math.max(1, Math.min(MAX_IDS, Math.floor(ROWS_PER_CALL / rows)))
  }
}
