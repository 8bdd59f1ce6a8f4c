import { parseCollectionRequest } from '../../../../src/collections/request.ts'
import { pickFields } from '../../../../src/collections/select.ts'
import { sources } from '../../../../src/collections/sources.ts'
import type { Row } from '../../../../src/collections/value.ts'
import { rowOf, statusOf } from '../agent-state.ts'
import { collect } from '../data/collect.ts'
import type { SimAgent, SimHandlers, SimRequest, World } from '../model.ts'
import { agentRows, countBy, matchAgents } from './agents.ts'
import { groupRows } from './groups.ts'

/** Counts of agents. */

/** Counts agents by status; `000` is active. */
function countStatus(world: World) {
  const count = { Total: 0, Active: 0, Disconnected: 0, 'Never connected': 0, Pending: 0 }
  const now = world.now()
  for (const agent of world.agents.values()) {
    count.Total += 1
    count[statusOf(agent, now)] += 1
  }
  return count
}

/** Returns the platforms of matching agents; only the sign of `sort` is used. */
function platforms({ world, query }: SimRequest) {
  const { offset, limit, sort, ...rest } = query
  const found = matchAgents(world, rest)
  const names = new Set(found.flatMap((row) => Object.values(pickFields(row, ['os.platform']))).map(platformOf))
  const page = { offset, limit, sort: sort?.startsWith('-') === true ? '-' : undefined }
  const asked = Object.entries(page).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return collect([...names], parseCollectionRequest(Object.fromEntries(asked), world.now()), sources.catalogue)
}

function platformOf(os: unknown): string {
  return typeof os === 'object' && os !== null && 'platform' in os ? String(os.platform) : ''
}

/** Totals of the parts count agents and not rows, as in the real API. */
function summary({ world }: SimRequest) {
  const rows = agentRows(world)
  const counted = (fields: readonly string[]) => ({ items: countBy(rows, fields), totalItems: rows.length })
  const groups = groupRows(world)
  return {
    nodes: counted(['node_name']),
    groups: { items: groups, totalItems: groups.length },
    agent_os: counted(['os.name', 'os.platform', 'os.version']),
    agent_status: countStatus(world),
    agent_version: counted(['version']),
    last_registered_agent: lastRegistered(world),
  }
}

function lastRegistered(world: World): Row {
  let last: SimAgent | undefined
  for (const agent of world.agents.values()) {
    if (agent.id !== '000' && (last === undefined || agent.dateAdd >= last.dateAdd)) last = agent
  }
  return last === undefined ? {} : pickFields(rowOf(last, world.now()), Object.keys(sources.agents.fields))
}

export const summaryHandlers: SimHandlers = {
  'GET /agents/summary': ({ world }) => countStatus(world),
  'GET /agents/summary/os': platforms,
  'GET /summary/agents': summary,
}
