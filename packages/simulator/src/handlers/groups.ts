import { CollectionError, parseCollectionRequest } from '../../../../src/collections/request.ts'
import { sources } from '../../../../src/collections/sources.ts'
import { collect } from '../data/collect.ts'
import { digest, emptyFiles, filesOf } from '../group-files.ts'
import {
  FrameworkError,
  type SimAgent,
  type SimGroup,
  type SimHandlers,
  type SimRequest,
  type World,
} from '../model.ts'
import { refusal } from '../texts.ts'
import { collectAgents, findAgent } from './agents.ts'
import { affected, type Failure, failureOf } from './outcome.ts'

/** Groups and their members. */

const MOST_GROUPS = 256

export function findGroup(world: World, name = ''): SimGroup {
  const group = world.groups.get(name)
  if (group === undefined) throw refusal(1710, name)
  return group
}

/** Groups by name with the number of their agents. */
export function groupRows(world: World, hash?: string) {
  const agents = [...world.agents.values()]
  return [...world.groups.values()]
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map((group) => ({
      count: agents.filter((agent) => agent.groups.includes(group.name)).length,
      name: group.name,
      mergedSum: digest(filesOf(group).get('merged.mg') ?? '', hash),
      configSum: digest(group.files.get('agent.conf') ?? '', hash),
    }))
}

function allGroups({ world, query }: SimRequest) {
  const { hash, ...rest } = query
  try {
    return collect(groupRows(world, hash), parseCollectionRequest(rest, world.now()), sources.groups)
  } catch (fault) {
    // The real API reports an error in q or sort as an error of listing.
    if (fault instanceof CollectionError && rest.q !== undefined) throw refusal(1736, fault.message)
    throw fault
  }
}

function members(request: SimRequest) {
  const { name } = findGroup(request.world, request.params.group_id)
  return collectAgents(request, ({ group }) => Array.isArray(group) && group.includes(name))
}

function create({ world, params }: SimRequest): string {
  const name = params.group_id ?? ''
  if (name.length > 255) throw refusal(1722)
  if (world.groups.has(name)) throw refusal(1711, name)
  world.groups.set(name, { name, files: emptyFiles() })
  return `Group '${name}' created.`
}

/** Returns the text of the response; an agent that is already in the group counts as a success. */
function assign(world: World, agent: SimAgent, name: string): string {
  findGroup(world, name)
  if (agent.groups.includes(name)) return `Agent '${agent.id}' already belongs to group '${name}'.`
  if (agent.groups.length >= MOST_GROUPS) throw refusal(1737)
  agent.groups.push(name)
  return `Group '${name}' added to agent '${agent.id}'.`
}

/** Only the presence of `force_single_group` counts; it creates a missing group. */
function assignOne({ world, params, query }: SimRequest): string {
  const agent = findAgent(world, params.agent_id, 'refused')
  const name = params.group_id ?? ''
  if (query.force_single_group === undefined) return assign(world, agent, name)
  if (!world.groups.has(name)) world.groups.set(name, { name, files: emptyFiles() })
  agent.groups = [name]
  return `Group '${name}' set to agent '${agent.id}'.`
}

/**
 * Nothing is validated before: a text is read character by character, and failed ids are plain texts, unlike elsewhere.
 */
function assignMany({ world, params, fields }: SimRequest) {
  const name = params.group_id ?? ''
  const ids = Array.isArray(fields.ids) ? fields.ids.map(String) : [...String(fields.ids)]
  if (ids.length === 0) throw refusal(1732)
  const done: string[] = []
  const failed: string[] = []
  for (const id of ids) {
    try {
      assign(world, findAgent(world, id, 'refused'), name)
      done.push(id)
    } catch (fault) {
      if (!(fault instanceof FrameworkError)) throw fault
      failed.push(id)
    }
  }
  if (failed.length === 0) return { msg: `All selected agents were assigned to group ${name}`, affected_agents: done }
  return { msg: `Some agents were not assigned to group ${name}`, affected_agents: done, failed_ids: failed }
}

/** An agent without a group gets the group `default`. */
function unassign(_world: World, agent: SimAgent, name: string): string {
  if (!agent.groups.includes(name)) throw refusal(1734)
  if (agent.groups.length > 1) {
    agent.groups = agent.groups.filter((group) => group !== name)
    return `Group '${name}' unset for agent '${agent.id}'.`
  }
  if (name === 'default') throw refusal(1745)
  agent.groups = ['default']
  return `Agent ${agent.id} set to group default.`
}

function unassignAll({ world, params }: SimRequest): string {
  const agent = findAgent(world, params.agent_id, 'refused')
  if (agent.groups.length === 0) throw refusal(1746)
  agent.groups = ['default']
  return `Group unset for agent '${agent.id}'.`
}

function unassignMany({ world, params, query }: SimRequest) {
  const { name } = findGroup(world, params.group_id)
  const done: string[] = []
  const failures: Failure[] = []
  for (const id of (query.ids ?? '').split(',').map((each) => each.padStart(3, '0'))) {
    try {
      unassign(world, findAgent(world, id, 'refused'), name)
      done.push(id)
    } catch (fault) {
      if (!(fault instanceof FrameworkError)) throw fault
      failures.push({ id, error: failureOf(fault) })
    }
  }
  const texts = {
    all: `All selected agents were removed from group ${name}`,
    some: `Some agents were not removed from group ${name}`,
  }
  return affected(texts, done, failures)
}

/** `default` ends the request at its place in the list: the groups before it are deleted. */
function removeGroups(world: World, names: readonly string[]) {
  const removed: string[] = []
  const agents = new Set<string>()
  const failures: Failure[] = []
  for (const name of names) {
    if (name === 'default') throw refusal(1712)
    if (!world.groups.delete(name)) {
      failures.push({ id: name, error: failureOf(refusal(1710, name)) })
      continue
    }
    removed.push(name)
    for (const agent of world.agents.values()) {
      if (!agent.groups.includes(name)) continue
      agents.add(agent.id)
      const left = agent.groups.filter((group) => group !== name)
      agent.groups = left.length > 0 ? left : ['default']
    }
  }
  const rest = { ids: removed, affected_agents: [...agents] }
  if (failures.length === 0) return { msg: 'All selected groups were removed', ...rest }
  return { msg: 'Some groups were not removed', failed_ids: failures, ...rest }
}

export const groupHandlers: SimHandlers = {
  'GET /agents/groups': allGroups,
  'GET /agents/groups/:group_id': members,
  'PUT /agents/groups/:group_id': create,
  'DELETE /agents/groups': ({ world, query }) => removeGroups(world, (query.ids ?? '').split(',')),
  'DELETE /agents/groups/:group_id': ({ world, params }) => removeGroups(world, [params.group_id ?? '']),
  'POST /agents/group/:group_id': assignMany,
  'DELETE /agents/group/:group_id': unassignMany,
  'PUT /agents/:agent_id/group/:group_id': assignOne,
  'DELETE /agents/:agent_id/group': unassignAll,
  'DELETE /agents/:agent_id/group/:group_id': ({ world, params }) => {
    return unassign(world, findAgent(world, params.agent_id, 'refused'), params.group_id ?? '')
  },
}
