/** Creates the simulated cluster and advances its time. */
import { lastBeats, SILENCE } from './agent-state.ts'
import { initialFiles } from './data/files.ts'
import { randomFor } from './data/random.ts'
import { agentSums, defaultFiles, emptyFiles } from './group-files.ts'
import type { SimAgent, SimGroup, SimNode, World } from './model.ts'
import { groupNames, makeAgent } from './population.ts'
import { managerSystem, osOf } from './systems.ts'
import { isMasterOnly } from './v4/releases.ts'

export interface WorldOptions {
  readonly workers?: number
  readonly agents?: number
  readonly seed?: number
  readonly version?: string
  readonly distributed?: boolean
  readonly restartTakes?: number
  readonly databaseDelay?: number
  readonly copyDelay?: number
  readonly hasFeeds?: boolean
  readonly reported?: World['reported']
  readonly now?: () => Date
}

/** Returns a cluster that depends only on the options and `now`. Nodes have no address yet. */
export function createWorld(options: WorldOptions = {}): World {
  const { workers = 2, agents = 100, seed = 1, version = '3.11.5', distributed = true, restartTakes = 0 } = options
  const { databaseDelay = 0, copyDelay = 0 } = options
  const now = options.now ?? (() => new Date())
  const start = now()
  const clusterKey = randomFor(seed, 'cluster key').hex(32)
  const nodes = Array.from({ length: workers + 1 }, (_, at) =>
    makeNode(at, { seed, version, clusterKey, master: ipOf(0), start }),
  )
  const world: World = {
    seed,
    version,
    agents: new Map(),
    groups: new Map(groupNames.map((name) => [name, makeGroup(name)])),
    nodes,
    clusterKey,
    distributed,
    restartTakes,
    databaseDelay,
    copyDelay,
    hasFeeds: options.hasFeeds ?? true,
    ...(options.reported && { reported: options.reported }),
    now,
  }
  const [master] = nodes
  // From release 5.0 on, the manager is no agent.
  if (master !== undefined && !isMasterOnly(version)) world.agents.set('000', managerAgent(master, world))
  const sumsOf = sumsBy(world)
  for (let n = 1; n <= agents; n++) {
    const agent = makeAgent(n, { seed, version, nodes, now: start })
    if (agent.lastKeepAlive !== undefined) Object.assign(agent, sumsOf(agent))
    world.agents.set(agent.id, agent)
  }
  letTimePass(world, start)
  return world
}

interface Site {
  readonly seed: number
  readonly version: string
  readonly clusterKey: string
  /** The address of the master. */
  readonly master: string
  readonly start: Date
}

/** Returns node number `at`; number 0 is the master. It has no listener yet. */
export function makeNode(at: number, { seed, version, clusterKey, master, start }: Site): SimNode {
  const names = isMasterOnly(version) ? ['master-node', `worker${at}`] : ['master', `worker-${at}`]
  const name = names[at === 0 ? 0 : 1] ?? ''
  const type = at === 0 ? 'master' : 'worker'
  return {
    name,
    type,
    ip: ipOf(at),
    url: '',
    files: initialFiles(seed, { name, type, clusterKey, master, isRelease5: isMasterOnly(version) }),
    restarts: 0,
    startedAt: start,
  }
}

function ipOf(at: number): string {
  return `10.0.${(10 + at) >> 8}.${(10 + at) & 255}`
}

function makeGroup(name: string): SimGroup {
  return { name, files: name === 'default' ? defaultFiles() : emptyFiles() }
}

/** Agent `000` of a node is the node itself. */
export function managerAgent(node: SimNode, world: World): SimAgent {
  return {
    id: '000',
    name: node.name,
    ip: '127.0.0.1',
    registerIP: '127.0.0.1',
    key: '',
    lastKeepAlive: new Date(Date.UTC(9999, 11, 31, 23, 59, 59)),
    dateAdd: node.startedAt,
    version: `Wazuh v${world.version}`,
    node: node.name,
    groups: [],
    os: osOf(managerSystem, node.name),
    cleared: new Set(),
    restarts: 0,
  }
}

const seenLast = new WeakMap<World, Date>()

/**
 * Advances the keepalives of agents that were alive at the last update. With a keepalive an agent also fetches changes
 * of its groups. An agent whose keepalive a test has set far back does not report.
 */
export function letTimePass(world: World, now: Date = world.now()): void {
  const before = (seenLast.get(world) ?? now).getTime()
  if (seenLast.has(world) && Math.abs(now.getTime() - before) < 1000) return
  seenLast.set(world, now)
  const [sumsOf, beatOf] = [sumsBy(world), lastBeats(now)]
  for (const agent of world.agents.values()) {
    const { lastKeepAlive } = agent
    if (agent.id === '000' || lastKeepAlive === undefined || before - lastKeepAlive.getTime() > SILENCE) continue
    const beat = beatOf(agent.id)
    if (beat <= lastKeepAlive) continue
    agent.lastKeepAlive = beat
    Object.assign(agent, sumsOf(agent))
  }
}

/** Agents in the same groups have the same checksums, so each is computed once. */
function sumsBy(world: World): (agent: SimAgent) => ReturnType<typeof agentSums> {
  const made = new Map<string, ReturnType<typeof agentSums>>()
  return (agent) => {
    const groups = agent.groups.join()
    const sums = made.get(groups) ?? agentSums(agent, world.groups)
    made.set(groups, sums)
    return sums
  }
}
