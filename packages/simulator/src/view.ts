/** The cluster as one node sees it: each node knows its own agents, and `000` is the node itself. */
import type { Endpoint } from '../../../src/contracts/endpoint.ts'
import type { SimAgent, SimNode, World } from './model.ts'
import { managerAgent } from './world.ts'

export type Sight =
  /** The view of the whole cluster, with the agents of other nodes. */
  | 'whole'
  /** As `cluster`, but `000` is this node. */
  | 'local'
  /** Without the reports of other nodes: their agents appear as never connected. */
  | 'own'
  /** Agents of other nodes appear as its own, and operations on them have no effect. */
  | 'claiming'
  /** A copy: writes are lost, and agents of other nodes appear as agents of this node. */
  | 'deluded'

/**
 * The view of a node that executes everything itself. The master has the reports of all agents but only the data of its
 * own; a worker has neither of other nodes' agents.
 */
export function sightAlone({ target, method }: Endpoint, entry: SimNode): Sight {
  if (target.kind === 'everyNode') return 'local'
  const reads = method === 'GET'
  const perAgent = target.kind === 'agentOwner' || target.kind === 'agentOwners'
  if (perAgent && !reads) return 'claiming'
  if (entry.type === 'master') return 'whole'
  return reads ? 'own' : 'deluded'
}

/** Returns the view for a request that `node` executes; the same object if nothing differs. */
export function seenFrom(node: SimNode, world: World, sight: Sight): World {
  if (sight === 'whole' || (sight === 'local' && node.type === 'master')) return world
  let agents: Map<string, SimAgent> | undefined
  return {
    ...world,
    /** Most requests ask for other things, such as the version. */
    get agents() {
      agents ??= agentsSeenFrom(node, world, sight)
      return agents
    },
    groups: sight === 'deluded' ? new Map(world.groups) : world.groups,
  }
}

function agentsSeenFrom(node: SimNode, world: World, sight: Exclude<Sight, 'whole'>): Map<string, SimAgent> {
  const agents = new Map(world.agents)
  if (sight !== 'local') for (const [id, agent] of agents) agents.set(id, sights[sight](agent, node))
  return agents.set('000', managerAgent(node, world))
}

const sights: Readonly<Record<Exclude<Sight, 'whole' | 'local'>, (agent: SimAgent, node: SimNode) => SimAgent>> = {
  own: (agent, node) => (agent.node === node.name ? agent : unreported(agent)),
  claiming: (agent, node) => (agent.node === node.name ? agent : adopted(agent, node)),
  deluded: adopted,
}

/** A worker without distribution shows agents of other nodes like this, as recorded. */
function unreported({ id, name, ip, registerIP, key, groups, cleared }: SimAgent): SimAgent {
  return { id, name, ip, registerIP, key, groups: [...groups], cleared, dateAdd: new Date(0), restarts: 0 }
}

/** Returns a copy that appears to report to this node, unless the agent never connected. */
function adopted(agent: SimAgent, { name }: SimNode): SimAgent {
  const { node: _, ...rest } = agent
  const node = agent.lastKeepAlive === undefined ? agent.node : name
  const changed = { groups: [...agent.groups], cleared: new Set(agent.cleared) }
  return { ...rest, ...changed, ...(node === undefined ? {} : { node }) }
}
