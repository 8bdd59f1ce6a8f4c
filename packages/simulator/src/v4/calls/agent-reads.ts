/** Reads of agents. */
import { managerConfig } from '../../handlers/configuration.ts'
import { handlers } from '../../handlers/index.ts'
import { FrameworkError, type SimAgent } from '../../model.ts'
import { affected, type Failed } from '../answers.ts'
import { collectRows, cut, fieldOf, type Item, matching, pick, sortRows } from '../collection.ts'
import { V4Error } from '../errors.ts'
import type { Asked } from '../model.ts'
import { membersOf } from '../parameters.ts'
import { hasRelease5 } from '../releases.ts'
import { agentRows, compareSums, isActive, isBefore, isSynced, releaseOf, statusWord } from '../rows.ts'
import { agentTableAt, canonical, eachAgent, filterAgents } from './agent-table.ts'
import { v4Value } from './component-values.ts'

/** Returns the agents that the user may see: the listed ones, or all. */
function seenAgents({ world, query, allows }: Asked): { agents: SimAgent[]; failed: Failed[] } {
  const ids = membersOf(query.agents_list)
  if (ids === undefined) return { agents: [...world.agents.values()].filter(allows), failed: [] }
  const found = [...new Set(ids)].map((id) => world.agents.get(id) ?? world.agents.get(canonical(id)))
  // An id with more zeros finds its agent, and fails all the same.
  const unknown = [...new Set(ids)].filter((id) => !world.agents.has(id))
  return {
    agents: found.flatMap((agent) => agent ?? []).filter(allows),
    failed: unknown.map((id) => ({ id, error: new V4Error(1701) })),
  }
}

export function collectAgents(agents: readonly SimAgent[], asked: Asked, failed: readonly Failed[] = []) {
  const { world, query } = asked
  const rows = agentRows(filterAgents(agents, asked), asked)
  const { items, total } = collectRows(rows, agentTableAt(asked), query, world.now())
  return affected(items, { total, failed })
}

export function all(asked: Asked) {
  const { agents, failed } = seenAgents(asked)
  return collectAgents(agents, asked, failed)
}

export function noGroup(asked: Asked) {
  const { agents } = seenAgents(asked)
  return collectAgents(
    agents.filter(({ id, groups }) => id !== '000' && groups.length === 0),
    asked,
  )
}

/** Release 5.0 compares versions in two forms, so that each one is outdated. */
export function outdated(asked: Asked) {
  const { world, query } = asked
  const isLater = hasRelease5(asked)
  const newest = isLater ? [Number.POSITIVE_INFINITY] : world.version.split('.').map(Number)
  const { agents } = seenAgents(asked)
  const old = agents.filter((agent) => {
    const release = releaseOf(agent)
    return agent.id !== '000' && release !== undefined && isBefore(release, newest)
  })
  const select = isLater ? {} : { select: 'id,name,version' }
  const { items, total } = collectRows(agentRows(old, asked), agentTableAt(asked), { ...query, ...select }, world.now())
  return affected(items, { total })
}

const UNKNOWN = 'unknown'
const UNKNOWN_TO_5 = 'N/A'
const EPOCH = '1970-01-01T00:00:00+00:00'

/** A field without a value is `unknown`; the total counts agents, not rows. */
export function distinct(asked: Asked) {
  const { world, query } = asked
  const agentTable = agentTableAt(asked)
  const isLater = hasRelease5(asked)
  const fields = membersOf(query.fields) ?? [...new Set([...agentTable.fields, 'internal_key'])]
  const unknown = fields.filter((field) => field !== 'internal_key' && !agentTable.fields.includes(field))
  if (unknown.length > 0) {
    throw new V4Error(1724, `Allowed select fields: ${agentTable.fields.join(', ')}. Fields ${unknown.join(', ')}`)
  }
  const found = matching(agentRows(seenAgents(asked).agents, asked), agentTable, query, world.now())
  const groups = countDistinct(found, fields, isLater)
  const sortable = [...agentTable.fields, 'count']
  const sorted = query.sort === undefined ? groups : sortRows(groups, { ...agentTable, sortable }, query.sort)
  return affected(cut(sorted, query), { total: found.length })
}

/** `isLater`: as release 5.0 writes what is not known. */
export function countDistinct(rows: readonly Item[], fields: readonly string[], isLater = false): Item[] {
  const unknownOf = (field: string) => {
    if (isLater) return field === 'disconnection_time' ? EPOCH : UNKNOWN_TO_5
    return field === 'group' ? [UNKNOWN] : UNKNOWN
  }
  const groups = new Map<string, { row: Item; count: number }>()
  for (const row of rows) {
    const missing = fields.filter((field) => fieldOf(row, field) === undefined)
    const filled = Object.fromEntries(missing.map((field) => [field, unknownOf(field)]))
    const picked = pick(
      { ...row, ...filled },
      fields.filter((field) => filled[field] === undefined || !field.includes('.')),
    )
    const whole = nested(picked, filled)
    const key = JSON.stringify(whole)
    const group = groups.get(key) ?? { row: whole, count: 0 }
    group.count += 1
    groups.set(key, group)
  }
  return [...groups.values()].map(({ row, count }) => ({ ...row, count }))
}

/** Adds dotted fields to an object. */
function nested(row: Item, filled: Readonly<Record<string, unknown>>): Item {
  const result: Record<string, unknown> = { ...row }
  for (const [field, value] of Object.entries(filled)) {
    const [outer = '', inner] = field.split('.')
    if (inner === undefined) result[outer] = value
    else result[outer] = { ...(result[outer] as Item | undefined), [inner]: value }
  }
  return result
}

/** Returns the counts of the agents that the user may see, without the manager. */
export function statusCounts(asked: Asked) {
  const now = asked.world.now()
  const agents = seenAgents({ ...asked, query: {} }).agents.filter(({ id }) => id !== '000')
  const connection = { active: 0, disconnected: 0, never_connected: 0, pending: 0, total: agents.length }
  for (const agent of agents) connection[statusWord(agent, now)] += 1
  if (hasRelease5(asked)) return { connection }
  const synced = agents.filter(compareSums(asked.world)).length
  return { connection, configuration: { synced, total: agents.length, not_synced: agents.length - synced } }
}

/** Returns the counts of agents by state, system and group. */
export function overallCounts(asked: Asked) {
  const agents = seenAgents(asked).agents.filter(({ id }) => id !== '000')
  const count = (names: readonly string[]) => {
    const counts: Record<string, number> = {}
    for (const name of names) counts[name] = (counts[name] ?? 0) + 1
    return counts
  }
  const { total, ...status } = statusCounts(asked).connection
  const os = count(agents.flatMap((agent) => agent.os?.platform ?? []))
  const groups = count(agents.flatMap((agent) => agent.groups))
  if (hasRelease5(asked)) return { status, os, groups }
  return { agents_by_status: { ...status, total }, agents_by_os: os, agents_by_groups: groups }
}

export function platforms(asked: Asked) {
  const found = seenAgents({ ...asked, query: {} }).agents.flatMap(({ os }) => os?.platform ?? [])
  return affected([...new Set(found)].sort())
}

export function keys(asked: Asked) {
  return eachAgent(asked, [asked.params.agent_id ?? ''], ({ id, key }) => ({ id, key }))
}

export function isSync(asked: Asked) {
  return eachAgent(asked, [asked.params.agent_id ?? ''], (agent) => ({
    id: agent.id,
    synced: isSynced(agent, asked.world),
  }))
}

const configurationOf = handlers['GET /agents/:agent_id/config/:component/:configuration']

/** The daemons of agents answer alike in both layouts. */
export function activeConfiguration({ world, node, params }: Asked) {
  const { agent_id: id = '', component = '', configuration = '' } = params
  const agent = world.agents.get(canonical(id))
  if (agent === undefined) throw new V4Error(1701)
  if (agent.id !== '000' && !isActive(agent, world.now())) throw new V4Error(1740)
  const request = {
    world,
    node,
    params: { ...params, agent_id: agent.id },
    query: {},
    fields: {},
    text: '',
    client: '',
  }
  const key = `${component}/${configuration}`
  const isV4 = !isBefore(releaseOf(agent) ?? [0], [4, 0, 0])
  if (key === 'com/logging' && isV4) return { kind: 'data', data: LOGGING } as const
  try {
    const data = agent.id === '000' ? managerConfig(request) : configurationOf?.(request)
    return { kind: 'data', data: isV4 ? v4Value(`agent ${key}`, data) : data } as const
  } catch (fault) {
    if (!(fault instanceof FrameworkError)) throw fault
    throw new V4Error(1116, `${component}:${configuration}`)
  }
}

const LOGGING = { logging: { plain: 'yes', json: 'no' } }
