import type { CollectionPage } from '../../../../src/collections/request.ts'
import { parseCollectionRequest } from '../../../../src/collections/request.ts'
import { nestRow } from '../../../../src/collections/select.ts'
import type { DatabaseSource } from '../../../../src/collections/sources.ts'
import type { Row } from '../../../../src/collections/value.ts'
import { FrameworkError, type SimRequest } from '../model.ts'
import { type Machine, machineOf } from './machine.ts'
import { pageOfTable } from './tables.ts'

/** All agents of a node in one collection, with the defects of the real API. */

const FIRST_AGENTS = 500
const DEFAULT_LIMIT = 500

export interface Walk {
  readonly source: DatabaseSource
  /** The flat row of one agent in the node's database. */
  readonly rowsOf: (machine: Machine) => readonly Row[]
  /** Counts agents with a row instead of matching rows (kinds with one row for each agent). */
  readonly countAgents?: boolean
}

/**
 * The page is cut for each agent, and no rows are added beyond the limit. The result is sorted again, by the first sort
 * field only. The total counts all agents. Rows of agents that report to other nodes are missing.
 */
export function walkAgents(request: SimRequest, { source, rowsOf, countAgents = false }: Walk): CollectionPage<Row> {
  const { world, node, query } = request
  const { limit = DEFAULT_LIMIT } = parseCollectionRequest(query, world.now())
  const { nested: _, ...flat } = source
  const found: Row[] = []
  let totalItems = 0
  for (const agent of [...world.agents.values()].slice(0, FIRST_AGENTS)) {
    const machine = machineOf(world, node, agent)
    if (machine === undefined) continue
    const page = pageOfTable(rowsOf(machine), query, world.now(), flat, { inParts: true })
    totalItems += countAgents ? page.items.length : page.totalItems
    found.push(...page.items.slice(0, limit - found.length).map((row) => ({ ...row, agent_id: agent.id })))
  }
  return { items: ordered(found, query.sort).map(nestRow), totalItems }
}

/** Texts are compared with case; a row without the field fails the request. */
function ordered(rows: readonly Row[], sort = ''): Row[] {
  const field =
    sort
      .replace(/^[ +-]/, '')
      .split(',')[0]
      ?.trim() ?? ''
  if (field === '') return [...rows]
  const sign = sort.startsWith('-') ? -1 : 1
  return rows.toSorted((a, b) => sign * compare(a[field], b[field]))
}

function compare(a: unknown, b: unknown): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b
  if (typeof a !== 'string' || typeof b !== 'string') throw new FrameworkError(1000, 'Internal error')
  return a < b ? -1 : a > b ? 1 : 0
}
