/** The world as one node sees it: every node knows its own agents best, and `000` is the node itself. */
import type { Endpoint } from '../catalogue/endpoint.ts'
import type { SimAgent, SimNode, World } from './model.ts'
import { managerAgent } from './world.ts'

export type Sight =
  /** As the cluster knows it, agents of other nodes included. */
  | 'whole'
  /** The same, but `000` is this node. */
  | 'local'
  /** Without the others' reports: agents of other nodes look as if they never connected. */
  | 'own'
  /** Its own agents as they are; those of other nodes look like its own, and nothing that is done to them happens. */
  | 'claiming'
  /** A copy: what is written into it is lost, and agents of other nodes look like this node's own. */
  | 'deluded'

/**
 * How a node sees it that carries out everything itself: the master has the reports of all agents and the data of its
 * own alone; a worker has neither of the others'.
 */
export function sightAlone({ target, method }: Endpoint, entry: SimNode): Sight {
  if (target.kind === 'everyNode') return 'local'
  const reads = method === 'GET'
  const perAgent = target.kind === 'agentOwner' || target.kind === 'agentOwners'
  if (perAgent && !reads) return 'claiming'
  if (entry.type === 'master') return 'whole'
  return reads ? 'own' : 'deluded'
}

/** The world for a request that `node` carries out; the same object where nothing differs. */
export function seenFrom(node: SimNode, world: World, sight: Sight): World {
  if (sight === 'whole' || (sight === 'local' && node.type === 'master')) return world
  const see = sights[sight]
  const agents = new Map([...world.agents].map(([id, agent]) => [id, see(agent, node)]))
  agents.set('000', managerAgent(node, world))
  return { ...world, agents, groups: sight === 'deluded' ? new Map(world.groups) : world.groups }
}

const sights: Readonly<Record<Exclude<Sight, 'whole'>, (agent: SimAgent, node: SimNode) => SimAgent>> = {
  local: (agent) => agent,
  own: (agent, node) => (agent.node === node.name ? agent : unreported(agent)),
  claiming: (agent, node) => (agent.node === node.name ? agent : adopted(agent, node)),
  deluded: adopted,
}

/** A worker without the cluster's distribution shows the agents of other nodes like this (recorded). */
function unreported({ id, name, ip, registerIP, key, groups, cleared }: SimAgent): SimAgent {
  return { id, name, ip, registerIP, key, groups: [...groups], cleared, dateAdd: new Date(0), restarts: 0 }
}

/** A copy that seems to report to this node, unless it never reported to any. */
function adopted(agent: SimAgent, { name }: SimNode): SimAgent {
  const { node: _, ...rest } = agent
  const node = agent.lastKeepAlive === undefined ? agent.node : name
  const changed = { groups: [...agent.groups], cleared: new Set(agent.cleared) }
  return { ...rest, ...changed, ...(node === undefined ? {} : { node }) }
}
