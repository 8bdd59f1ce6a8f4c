/** Commands to agents: restarts, active responses, upgrades. */
import { justNow } from '../../agent-state.ts'
import { AR_CONF } from '../../group-files.ts'
import type { SimAgent } from '../../model.ts'
import { affected } from '../answers.ts'
import { collectRows, type Item, matching, type Table } from '../collection.ts'
import { V4Error } from '../errors.ts'
import type { Asked } from '../model.ts'
import { filtersOf, isTrue, membersOf } from '../parameters.ts'
import { isActive, isBefore, releaseOf, zuluAt } from '../rows.ts'
import type { Task } from '../tasks.ts'
import { agentFilters, agentTableAt, eachAgent, filterAgents } from './agent-table.ts'
import { requireGroup } from './group-members.ts'

export const restarted = {
  all: 'Restart command was sent to all agents',
  some: 'Restart command was not sent to some agents',
  none: 'Restart command was not sent to any agent',
}

function requireActive(agent: SimAgent, { world }: Asked): void {
  if (!isActive(agent, world.now())) throw new V4Error(1707)
}

/** Without a list, only active agents are restarted, and others do not fail. */
export function restart(asked: Asked, ids: readonly string[]) {
  return eachAgent(asked, ids, (agent) => {
    requireActive(agent, asked)
    agent.restarts += 1
    agent.lastKeepAlive = justNow(asked.world.now())
    return agent.id
  })
}

function activeOnly(asked: Omit<Asked, 'node'>, ids: readonly string[]): readonly string[] {
  const { world } = asked
  return ids.filter((id) => {
    const agent = world.agents.get(id)
    return id !== '000' && agent !== undefined && isActive(agent, world.now())
  })
}

export function restartMany(asked: Asked) {
  const ids = membersOf(asked.query.agents_list) ?? []
  return restart(asked, asked.query.whole === undefined ? ids : activeOnly(asked, ids))
}

/** The agents of a group that are restarted with it. */
export function activeMembers(asked: Omit<Asked, 'node'>): readonly string[] {
  const { name } = requireGroup(asked, asked.params.group_id ?? '', '')
  const members = [...asked.world.agents.values()].filter((agent) => agent.groups.includes(name) && asked.allows(agent))
  return activeOnly(
    asked,
    members.map(({ id }) => id),
  )
}

/** Without a list, only active agents are asked to connect anew. */
export function reconnect(asked: Asked) {
  const ids = membersOf(asked.query.agents_list) ?? []
  return eachAgent(asked, asked.query.whole === undefined ? ids : activeOnly(asked, ids), (agent) => {
    requireActive(agent, asked)
    return agent.id
  })
}

/** Restarts the agents that report to the node. */
export function restartOfNode(asked: Asked) {
  const { world, node } = asked
  const own = [...world.agents.values()].filter((agent) => agent.node === node.name && asked.allows(agent))
  return restart(
    asked,
    activeOnly(
      asked,
      own.map(({ id }) => id),
    ),
  )
}

const commands = new Set(AR_CONF.split('\n').map((line) => line.split(' - ')[0]))

/** Agents since 4.2 take any command; older ones only those that the manager knows. */
export function activeResponse(asked: Asked) {
  const { query, fields } = asked
  const ids = membersOf(query.agents_list) ?? []
  const named = query.whole === undefined ? ids : ids.filter((id) => id !== '000')
  const command = String(fields.command)
  return eachAgent(asked, named, (agent) => {
    requireActive(agent, asked)
    const isOld = isBefore(releaseOf(agent) ?? [0], [4, 2, 0])
    if (isOld && !command.startsWith('!') && fields.custom !== true && !commands.has(command)) throw new V4Error(1652)
    return agent.id
  })
}

export function upgrade(command: Task['command']) {
  return (asked: Asked) => {
    const { world, node, query, tasks } = asked
    const ids = (membersOf(query.agents_list) ?? []).filter((id) => query.whole === undefined || id !== '000')
    const wanted = (query.upgrade_version ?? world.version).toLowerCase().replace(/^(?:wazuh )?v?/, '')
    const answer = eachAgent(asked, ids, (agent) => {
      const unmet = agentFilters.find((name) => {
        const value = query[name]
        return value !== undefined && filterAgents([agent], { ...asked, query: { [name]: value } }).length === 0
      })
      if (unmet !== undefined) throw new V4Error(1731, requirementOf(unmet, query[unmet] ?? ''))
      requireActive(agent, asked)
      const isNewest = !isBefore(releaseOf(agent) ?? [0], wanted.split('.').map(Number))
      const refused = command === 'upgrade' && isNewest && !isTrue(query.force)
      const version = command === 'upgrade' ? `Wazuh v${wanted}` : undefined
      const created = { agent: agent.id, node: node.name, command, created: world.now(), version }
      const task = refused ? undefined : tasks.create(created)
      if (task === undefined) throw new V4Error(1820)
      return { agent: agent.id, task_id: task.id }
    })
    // With `all`, agents that cannot be upgraded are left out.
    return query.whole === undefined ? answer : affected(answer.items)
  }
}

function requirementOf(name: string, value: string): string {
  const shown = name === 'version' ? `wazuh v${value.toLowerCase().replace(/^(?:wazuh )?v?/, '')}` : value
  return `some of the requirements are not met -> ${name}: ${shown}`
}

/** Each read brings the task nearer to its end. */
export function upgradeResults(asked: Asked) {
  const { world, tasks, query } = asked
  // A bad query is refused even without agents.
  if (query.q !== undefined) matching([], agentTableAt(asked), { q: query.q }, world.now())
  const all = tasks.all().map(({ agent }) => agent)
  const listed = membersOf(query.agents_list) ?? []
  const ids = query.whole === undefined ? listed : listed.filter((id) => all.includes(id))
  return eachAgent(asked, ids, (agent) => {
    requireActive(agent, asked)
    const task = tasks.of(agent.id)
    if (task === undefined) throw new V4Error(1813)
    if (task.left > 0) task.left -= 1
    else finish(task, agent)
    return {
      message: 'Success',
      agent: agent.id,
      task_id: task.id,
      node: task.node,
      module: 'upgrade_module',
      command: task.command,
      status: !task.done ? 'Updating' : task.fails === undefined ? 'Updated' : 'Error',
      ...(task.done && task.fails !== undefined ? { error_msg: task.fails } : {}),
      create_time: zuluAt(task.created),
      update_time: zuluAt(world.now()),
    }
  })
}

function finish(task: Task, agent: SimAgent): void {
  if (!task.done && task.fails === undefined && task.version !== undefined) agent.version = task.version
  task.done = true
}

const taskTable: Table = {
  kind: 'database',
  fields: [
    ...['task_id', 'agent_id', 'node', 'module', 'command', 'create_time', 'last_update_time', 'status'],
    'error_message',
  ],
  times: ['create_time', 'last_update_time'],
}

export function taskStates({ tasks, query, world }: Asked) {
  const agents = membersOf(query.agents_list)
  const ids = membersOf(query.tasks_list)
  const filters = filtersOf(query).filter(([name]) => name !== 'tasks_list')
  const rows = tasks
    .all()
    .filter(({ agent, id }) => (agents?.includes(agent) ?? true) && (ids?.includes(String(id)) ?? true))
    .map(
      (task): Item => ({
        task_id: task.id,
        command: task.command,
        last_update_time: zuluAt(task.created),
        agent_id: task.agent,
        create_time: zuluAt(task.created),
        status: !task.done ? 'In progress' : task.fails === undefined ? 'Done' : 'Failed',
        node: task.node,
        module: 'upgrade_module',
      }),
    )
    .filter((row) => filters.every(([name, value]) => String(row[name]).toLowerCase() === value.toLowerCase()))
  const { items, total } = collectRows(rows, taskTable, query, world.now())
  return affected(items, { total })
}
