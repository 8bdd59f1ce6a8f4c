import { parseCollectionRequest } from '../../../../src/collections/request.ts'
import { pickFields } from '../../../../src/collections/select.ts'
import { sources } from '../../../../src/collections/sources.ts'
import type { Row } from '../../../../src/collections/value.ts'
import { rowOf } from '../agent-state.ts'
import { collect } from '../data/collect.ts'
import { matchTable, pageOfTable } from '../data/tables.ts'
import { agentSums } from '../group-files.ts'
import type { SimAgent, SimHandlers, SimRequest, World } from '../model.ts'
import { refusal } from '../texts.ts'
/** Reads of agents. */

export function agentRows(world: World): Row[] {
  const now = world.now()
  return [...world.agents.values()].map((agent) => rowOf(agent, now))
}

/** Returns the agent with this id. Throws 1701 if it is unknown and 1703 for `000` where it is not allowed. */
export function findAgent(world: World, id: string | undefined, manager: 'allowed' | 'refused' = 'allowed'): SimAgent {
  const agent = world.agents.get(id ?? '')
  if (agent === undefined) throw refusal(1701, id)
  if (agent.id === '000' && manager === 'refused') throw refusal(1703)
  return agent
}

/** Returns agents as a collection. `own`: those that the path names. */
export function collectAgents({ world, query }: SimRequest, own?: (row: Row) => boolean) {
  return pageOfTable(agentRows(world), query, world.now(), sources.agents, own === undefined ? {} : { own })
}

/** Returns the agents that match filters and `q`. */
export function matchAgents(world: World, query: SimRequest['query']): readonly Row[] {
  return matchTable(agentRows(world), parseCollectionRequest(query, world.now()), sources.agents)
}

/** A single agent has exactly the requested fields and never its key. */
function single(agent: SimAgent, { world, query }: SimRequest): Row {
  const fields = query.select?.split(',') ?? Object.keys(sources.agents.fields)
  if (fields.some((field) => sources.agents.fields[field] === undefined)) throw refusal(1724)
  return pickFields(rowOf(agent, world.now()), fields)
}

/**
 * The page is cut first; agents that are not outdated are then removed from the page and the total, as in the real API.
 */
function outdated(request: SimRequest) {
  const { select, ...query } = request.query
  const page = collectAgents({ ...request, query }).items
  const items = page
    .filter((agent) => agent.version !== undefined && agent.version !== `Wazuh v${request.world.version}`)
    .map((agent) => pickFields(agent, ['name', 'id', 'version']))
  return { items, totalItems: items.length }
}

/** Without `fields` all fields are used, including the hidden key, as recorded. */
function distinct({ world, query }: SimRequest) {
  const { fields, select, offset, limit, ...rest } = query
  const known = [...Object.keys(sources.agents.fields), 'internal_key']
  const names = (fields ?? select)?.split(',') ?? known
  if (names.some((name) => !known.includes(name))) throw refusal(1724)
  const found = matchAgents(world, rest)
  const page = { ...(offset === undefined ? {} : { offset }), ...(limit === undefined ? {} : { limit }) }
  const groups = countBy(found, names)
  const { items } = collect(groups, parseCollectionRequest(page, world.now()), { engine: 'array' })
  return { items, totalItems: found.length }
}

/** Returns one row for each distinct combination of fields with its `count`, in the order of first appearance. */
export function countBy(rows: readonly Row[], fields: readonly string[]): Row[] {
  const groups = new Map<string, { row: Row; count: number }>()
  for (const row of rows) {
    const picked = pickFields(row, fields)
    const key = JSON.stringify(picked)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, { row: picked, count: 1 })
    else group.count += 1
  }
  return [...groups.values()].map(({ row, count }) => ({ ...row, count }))
}

/** An agent is synchronised if it reports the checksum of its groups' present files. */
function isSync({ world, params }: SimRequest) {
  const agent = world.agents.get(params.agent_id ?? '')
  if (agent?.id === '000') throw refusal(1703)
  // Every inner failure is reported as 1739, including an unknown agent.
  if (agent === undefined) throw refusal(1739, 'Agent does not exist')
  return { synced: agent.mergedSum === agentSums(agent, world.groups).mergedSum }
}

export const agentHandlers: SimHandlers = {
  'GET /agents': (request) => collectAgents(request),
  'GET /agents/:agent_id': (request) => single(findAgent(request.world, request.params.agent_id), request),
  'GET /agents/name/:agent_name': (request) => {
    const name = request.params.agent_name
    const agent = [...request.world.agents.values()].find((known) => known.name === name)
    if (agent === undefined) throw refusal(1701, name)
    return single(agent, request)
  },
  'GET /agents/no_group': (request) => collectAgents(request, ({ group, id }) => group === undefined && id !== '000'),
  'GET /agents/outdated': outdated,
  'GET /agents/stats/distinct': distinct,
  'GET /agents/:agent_id/key': ({ world, params }) => findAgent(world, params.agent_id, 'refused').key,
  'GET /agents/:agent_id/group/is_sync': isSync,
}
