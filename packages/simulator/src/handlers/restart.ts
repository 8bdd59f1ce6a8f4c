/** Commands to agents and nodes: restarts, upgrades, active responses. */
import { justNow, statusOf } from '../agent-state.ts'
import { idsOf } from '../distribute.ts'
import { AR_CONF } from '../group-files.ts'
import { FrameworkError, type SimAgent, type SimHandlers, type SimRequest, type World } from '../model.ts'
import { refusal } from '../texts.ts'
import { findAgent } from './agents.ts'
import { affected, type Failure, failureOf } from './outcome.ts'

const restarted = { all: 'All selected agents were restarted', some: 'Some agents were not restarted' }

function restart(agent: SimAgent, world: World): void {
  agent.restarts += 1
  agent.lastKeepAlive = justNow(world.now())
}

function restartThese(world: World, ids: readonly string[]) {
  const done: string[] = []
  const failures: Failure[] = []
  for (const id of ids) {
    try {
      const agent = findAgent(world, id, 'refused')
      const status = statusOf(agent, world.now())
      if (status !== 'Active') throw refusal(1707, `${id} - ${status}`)
      restart(agent, world)
      done.push(id)
    } catch (fault) {
      if (!(fault instanceof FrameworkError)) throw fault
      failures.push({ id, error: failureOf(fault) })
    }
  }
  return affected(restarted, done, failures)
}

/**
 * Each node restarts the members that report to it; the master also those without a node. Without members it fails,
 * because the master looks for them before it distributes the request.
 */
function restartGroup({ world, node, params }: SimRequest) {
  const group = params.group_id ?? ''
  const members = [...world.agents.values()].filter((agent) => agent.groups.includes(group))
  if (members.length === 0) throw refusal(1000)
  const mine = members.filter(
    (agent) => agent.node === node.name || (agent.node === undefined && node.type === 'master'),
  )
  return restartThese(
    world,
    mine.map((agent) => agent.id),
  )
}

function restartAll({ world, node }: SimRequest): string {
  for (const agent of world.agents.values()) {
    const reached = agent.id !== '000' && agent.node === node.name && statusOf(agent, world.now()) === 'Active'
    if (reached) restart(agent, world)
  }
  return 'Restarting all agents'
}

/** Responds at once. */
function restartNode({ world, node }: SimRequest): string {
  node.restarts += 1
  node.startedAt = new Date(world.now().getTime() + (world.restartTakes ?? 0))
  return 'Restart request sent'
}

function upgradable({ world, params }: SimRequest): SimAgent {
  const agent = findAgent(world, params.agent_id, 'refused')
  if (statusOf(agent, world.now()) !== 'Active') throw refusal(1720)
  return agent
}

function upgrade(request: SimRequest): string {
  const agent = upgradable(request)
  const { version: manager } = request.world
  const asked = (request.query.version ?? manager).replace(/^v/, '')
  const forced = Number(request.query.force ?? 0) === 1
  if (!/^\d+\.\d+\.\d+$/.test(asked)) throw refusal(1718)
  if (!forced && compareVersions(asked, manager) > 0) throw refusal(1717)
  if (!forced && compareVersions(asked, (agent.version ?? '').replace('Wazuh v', '')) < 0) throw refusal(1749)
  agent.upgrade = `Wazuh v${asked}`
  return 'Upgrade procedure started'
}

function compareVersions(a: string, b: string): number {
  const [left, right] = [a.split('.').map(Number), b.split('.').map(Number)]
  const at = left.findIndex((part, index) => part !== right[index])
  return at < 0 ? 0 : (left[at] ?? 0) - (right[at] ?? 0)
}

function upgradeCustom(request: SimRequest): string {
  const { file_path: path, installer } = request.query
  if (path === undefined || installer === undefined) throw refusal(1307)
  const agent = upgradable(request)
  agent.upgrade = agent.version ?? ''
  return 'Installation started'
}

/**
 * The agent has the new version at the next request for the result. A real node waits until a timeout (3021) for an
 * agent that does not upgrade; the simulator does not wait.
 */
function upgradeResult({ world, node, params, waitForComplete }: SimRequest): string {
  const agent = findAgent(world, params.agent_id, 'refused')
  // Only the node that the agent reports to receives the result.
  if (agent.upgrade === undefined || agent.node !== node.name)
    throw waitForComplete === true ? refusal(1716) : refusal(3021)
  agent.version = agent.upgrade
  delete agent.upgrade
  return 'Agent upgraded successfully'
}

const commands = new Set(AR_CONF.split('\n').map((line) => line.split(' - ')[0]))

function activeResponse({ world, params, fields }: SimRequest): string {
  const { command, custom } = fields
  if (command === undefined || command === '') throw refusal(1650)
  const name = String(command)
  const own = String(custom) === 'true' || name.startsWith('!')
  if (!own && !commands.has(name)) throw refusal(1655)
  const agent = findAgent(world, params.agent_id)
  if (statusOf(agent, world.now()) !== 'Active') throw refusal(1651)
  return 'Command sent.'
}

export const commandHandlers: SimHandlers = {
  'POST /agents/restart': ({ world, fields }) => restartThese(world, idsOf(fields.ids)),
  'PUT /agents/restart': restartAll,
  'PUT /agents/:agent_id/restart': ({ world, params }) => restartThese(world, [params.agent_id ?? '']),
  'PUT /agents/groups/:group_id/restart': restartGroup,
  'PUT /manager/restart': restartNode,
  'PUT /cluster/restart': restartNode,
  'PUT /agents/:agent_id/upgrade': upgrade,
  'PUT /agents/:agent_id/upgrade_custom': upgradeCustom,
  'GET /agents/:agent_id/upgrade_result': upgradeResult,
  'PUT /active-response/:agent_id': activeResponse,
}
