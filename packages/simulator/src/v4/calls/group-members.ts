/** Groups of agents and their members. */
import { emptyFiles } from '../../group-files.ts'
import { groupRows } from '../../handlers/groups.ts'
import type { SimAgent } from '../../model.ts'
import { affected, type Failed } from '../answers.ts'
import { collectRows, type Table } from '../collection.ts'
import { V4Error } from '../errors.ts'
import type { Asked } from '../model.ts'
import { isTrue, membersOf } from '../parameters.ts'
import { hasRelease5 } from '../releases.ts'
import { collectAgents } from './agent-reads.ts'
import { canonical, eachAgent } from './agent-table.ts'

const groupTable: Table = {
  kind: 'database',
  fields: ['name', 'count', 'mergedSum', 'configSum'],
  sortable: ['name', 'count'],
  unsearched: ['count', 'mergedSum', 'configSum'],
  order: '+name',
}

const groupTableOf5: Table = {
  ...groupTable,
  kind: 'list',
  fields: groupTable.fields.filter((field) => field !== 'mergedSum'),
}

const MOST_GROUPS = 256

/** Throws 1710 as the error of the whole call. */
export function requireGroup({ world }: Pick<Asked, 'world'>, name: string, extra = name) {
  const group = world.groups.get(name)
  if (group === undefined) throw new V4Error(1710, extra)
  return group
}

/** Counts only the agents that the user may read. */
export function visibleGroups(asked: Asked, isVisible: (name: string) => boolean) {
  const { world, rights, query } = asked
  const rows = groupRows(world, query.hash)
    .filter(({ name }) => isVisible(name))
    .map(({ mergedSum, ...row }) => (hasRelease5(asked) ? row : { ...row, mergedSum }))
  if (rights.unlimited) return rows.map(({ count, name, ...sums }) => ({ name, count, ...sums }))
  const agents = [...world.agents.values()].filter(({ id, groups }) => rights.may('agent:read', 'agent:id', id, groups))
  return rows.map(({ name, ...row }) => {
    return { ...row, name, count: agents.filter(({ groups }) => groups.includes(name)).length }
  })
}

export function allGroups(asked: Asked) {
  const names = membersOf(asked.query.groups_list)
  const unknown = (names ?? []).filter((name) => !asked.world.groups.has(name))
  const rows = visibleGroups(asked, asked.allowsNamed).filter(({ name }) => names?.includes(name) ?? true)
  const table = hasRelease5(asked) ? groupTableOf5 : groupTable
  const { items, total } = collectRows(rows, table, asked.query, asked.world.now())
  return affected(items, { total, failed: unknown.map((id) => ({ id, error: new V4Error(1710) })) })
}

export function members(asked: Asked) {
  const { name } = requireGroup(asked, asked.params.group_id ?? '', '')
  const agents = [...asked.world.agents.values()].filter(asked.allows)
  return collectAgents(
    agents.filter(({ groups }) => groups.includes(name)),
    asked,
  )
}

export function create({ world, fields }: Asked) {
  const name = String(fields.group_id)
  if (world.groups.has(name)) throw new V4Error(1711, name)
  world.groups.set(name, { name, files: emptyFiles() })
  return { kind: 'text', message: `Group '${name}' created.` } as const
}

/** `all` are all groups but `default`. */
export function remove({ world, query, allowsNamed }: Asked) {
  const names = membersOf(query.groups_list) ?? []
  const asked = names.includes('all')
    ? [...world.groups.keys()].filter((name) => name !== 'default' && allowsNamed(name))
    : names
  const removed: string[] = []
  const failed: Failed[] = []
  for (const id of new Set(asked)) {
    if (id === 'default') failed.push({ id, error: new V4Error(1712) })
    else if (!world.groups.delete(id)) failed.push({ id, error: new V4Error(1710) })
    else removed.push(id)
  }
  for (const agent of world.agents.values()) {
    const left = agent.groups.filter((name) => !removed.includes(name))
    if (left.length < agent.groups.length) agent.groups = left.length > 0 ? left : ['default']
  }
  return affected(removed, { failed })
}

function assign(agent: SimAgent, name: string, alone: boolean): string {
  if (agent.groups.includes(name) && !(alone && agent.groups.length > 1)) throw new V4Error(1751)
  if (agent.groups.length >= MOST_GROUPS) throw new V4Error(1737)
  agent.groups = alone ? [name] : [...agent.groups, name]
  return agent.id
}

/** Without a list, all agents are assigned. */
export function assignMany(asked: Asked) {
  const { world, query } = asked
  const { name } = requireGroup(asked, query.group_id ?? '', '')
  const everyone = [...world.agents.values()].filter((agent) => agent.id !== '000' && asked.allows(agent))
  const ids = membersOf(query.agents_list) ?? everyone.map(({ id }) => id)
  return eachAgent(asked, ids, (agent) => assign(agent, name, isTrue(query.force_single_group)))
}

export function assignOne(asked: Asked) {
  const { params, query } = asked
  const { name } = requireGroup(asked, params.group_id ?? '', '')
  const alone = isTrue(query.force_single_group)
  return eachAgent(asked, [params.agent_id ?? ''], (agent) => assign(agent, name, alone))
}

/** Throws 1701 and 1703 as the error of the whole call. */
function requireAgent({ world, params }: Asked): SimAgent {
  const agent = world.agents.get(canonical(params.agent_id ?? ''))
  if (agent === undefined) throw new V4Error(1701)
  if (agent.id === '000') throw new V4Error(1703)
  return agent
}

/** Returns whether the agent fell back to the default group. */
function unassign(agent: SimAgent, name: string): boolean {
  if (!agent.groups.includes(name)) throw new V4Error(1734)
  const left = agent.groups.filter((group) => group !== name)
  if (left.length === 0 && name === 'default') throw new V4Error(1745)
  agent.groups = left.length > 0 ? left : ['default']
  return left.length === 0
}

export function unassignOne(asked: Asked) {
  const agent = requireAgent(asked)
  const { name } = requireGroup(asked, asked.params.group_id ?? '', '')
  const fellBack = unassign(agent, name)
  const more = fellBack ? ' Agent reassigned to group default.' : ''
  return { kind: 'text', message: `Agent '${agent.id}' removed from '${name}'.${more}` } as const
}

/** The items are names of groups. */
export function unassignAll(asked: Asked) {
  const agent = requireAgent(asked)
  const removed: string[] = []
  const failed: Failed[] = []
  for (const id of membersOf(asked.query.groups_list) ?? [...agent.groups]) {
    try {
      if (!asked.world.groups.has(id)) throw new V4Error(1710)
      unassign(agent, id)
      removed.push(id)
    } catch (error) {
      if (!(error instanceof V4Error)) throw error
      failed.push({ id, error })
    }
  }
  return affected(removed, { failed })
}

export function unassignMany(asked: Asked) {
  const { world, query } = asked
  const { name } = requireGroup(asked, query.group_id ?? '', '')
  const ids = membersOf(query.agents_list) ?? []
  const all = [...world.agents.values()].filter((agent) => agent.groups.includes(name) && asked.allows(agent))
  return eachAgent(asked, ids.includes('all') ? all.map(({ id }) => id) : ids, (agent) => {
    unassign(agent, name)
    return agent.id
  })
}
