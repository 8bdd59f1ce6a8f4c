/**
 * Changes of the cluster at run time: agents that move to another node, workers that join and leave, another master.
 * The data of an agent moves with the agent.
 */
import type { SimNode, World } from './model.ts'
import { makeNode, managerAgent } from './world.ts'

/** Makes the agent report to that node, as after a restart of the node that it reported to. */
export function moveAgent(world: World, id: string, to: string): void {
  const agent = world.agents.get(id)
  if (agent === undefined || id === '000') throw new RangeError(`There is no agent ${id} that could move`)
  agent.node = nodeOf(world, to).name
}

/** Adds a worker with the files that the master copies. It has no agents and no listener yet. */
export function addWorker(world: World): SimNode {
  const [master] = world.nodes
  const numbers = world.nodes.map(
    ({ ip }) => ip.split('.').reduce((sum, part) => (sum << 8) + Number(part), 0) & 0xffff,
  )
  const { seed, version, clusterKey } = world
  const site = { seed, version, clusterKey, master: master?.ip ?? '', start: world.now() }
  const node = makeNode(Math.max(...numbers) - 9, site)
  for (const [path, text] of master?.files ?? []) if (path !== MAIN) node.files.set(path, text)
  world.nodes.push(node)
  return node
}

/** Removes a worker. Its agents still name it until they are moved, as in a real cluster. */
export function removeWorker(world: World, name: string): void {
  const node = nodeOf(world, name)
  if (node.type === 'master') throw new RangeError(`${name} is the master; promote another node first`)
  world.nodes.splice(world.nodes.indexOf(node), 1)
}

/** Makes the node the master and the previous master a worker; agent `000`, if there is one, is the new master. */
export function promote(world: World, name: string): void {
  const next = nodeOf(world, name)
  const [before] = world.nodes
  if (before === undefined || before === next) return
  before.type = 'worker'
  next.type = 'master'
  world.nodes.splice(world.nodes.indexOf(next), 1)
  world.nodes.unshift(next)
  if (world.agents.has('000')) world.agents.set('000', managerAgent(next, world))
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
