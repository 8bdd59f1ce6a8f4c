/**
 * Who belongs to the cluster, changed while it runs: agents that report elsewhere, workers that join and leave, another
 * master. What a node held of an agent goes with the agent.
 */
import type { SimAgent, SimNode, World } from './model.ts'
import { makeNode, managerAgent } from './world.ts'

/** From now on the agent reports to that node, as after the restart of its own. */
export function moveAgent(world: World, id: string, to: string): void {
  const agent = world.agents.get(id)
  if (agent === undefined || id === '000') throw new RangeError(`There is no agent ${id} that could move`)
  agent.node = nodeOf(world, to).name
}

/** Agents that report to a node. */
export function agentsOf(world: World, name: string): SimAgent[] {
  return [...world.agents.values()].filter((agent) => agent.id !== '000' && agent.node === name)
}

/** A new worker, with what the master had copied to it. It has no agents and nobody listens for it yet. */
export function addWorker(world: World): SimNode {
  const [master] = world.nodes
  const numbers = world.nodes.map(
    ({ ip }) => ip.split('.').reduce((sum, part) => (sum << 8) + Number(part), 0) & 0xffff,
  )
  const site = { seed: world.seed, clusterKey: world.clusterKey, master: master?.ip ?? '', start: world.now() }
  const node = makeNode(Math.max(...numbers) - 9, site)
  for (const [path, text] of master?.files ?? []) if (path !== MAIN) node.files.set(path, text)
  world.nodes.push(node)
  return node
}

/** Its agents go on naming it, as the master does of a worker that is gone, until they are moved. */
export function removeWorker(world: World, name: string): void {
  const node = nodeOf(world, name)
  if (node.type === 'master') throw new RangeError(`${name} is the master; promote another node first`)
  world.nodes.splice(world.nodes.indexOf(node), 1)
}

/** That node is the master from now on, and the one before a worker; agent `000` is the new master itself. */
export function promote(world: World, name: string): void {
  const next = nodeOf(world, name)
  const [before] = world.nodes
  if (before === undefined || before === next) return
  before.type = 'worker'
  next.type = 'master'
  world.nodes.splice(world.nodes.indexOf(next), 1)
  world.nodes.unshift(next)
  world.agents.set('000', managerAgent(next, world))
  for (const node of world.nodes) {
    const text = node.files.get(MAIN)
    if (text !== undefined) node.files.set(MAIN, reassigned(text, node, { before, next }))
  }
}

const MAIN = 'etc/ossec.conf'

function reassigned(text: string, { type }: SimNode, { before, next }: { before: SimNode; next: SimNode }): string {
  return text
    .replace(/<node_type>[^<]*</, `<node_type>${type}<`)
    .replaceAll(`<node>${before.ip}</node>`, `<node>${next.ip}</node>`)
}

function nodeOf(world: World, name: string): SimNode {
  const node = world.nodes.find((known) => known.name === name)
  if (node === undefined)
    throw new RangeError(`There is no node ${name}; there are ${world.nodes.map((one) => one.name)}`)
  return node
}
