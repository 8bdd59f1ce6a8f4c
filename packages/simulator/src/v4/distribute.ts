/** Decides which nodes execute a call, and merges what they answer. */
import type { SimNode, World } from '../model.ts'
import { type Affected, type Answer, affected, type Failed, type Texts } from './answers.ts'
import { fieldOf, type Item, valueOrder } from './collection.ts'
import { V4Error } from './errors.ts'
import { type Cluster, runOn, type Unplaced } from './execution.ts'
import type { Call } from './model.ts'
import { membersOf } from './parameters.ts'

export interface Answered {
  readonly answer: Answer
  readonly texts: Texts
}

const NODE_TEXTS: Texts = { all: '', some: '', none: 'No information was returned' }

/** Returns the answer of all nodes that the call concerns. Throws V4Error. */
export async function execute(cluster: Cluster, call: Call, asked: Unplaced, entry: SimNode): Promise<Answered> {
  const { world } = cluster
  const texts = typeof call.texts === 'function' ? call.texts(asked) : call.texts
  const master = masterOf(world)
  switch (call.runs) {
    case 'here':
      return { answer: await runOn(cluster, call, asked, entry, entry), texts }
    case 'master':
      return { answer: await runOn(cluster, call, asked, entry, master), texts }
    case 'owner': {
      const owner = ownerOf(asked.params.agent_id ?? '', world)
      return { answer: await runOn(cluster, call, asked, entry, connected(owner, world, entry)), texts }
    }
    case 'owners':
      return { answer: await onOwners(cluster, call, asked, entry), texts }
    case 'node': {
      const name = asked.params.node_id ?? ''
      const node = connectedNodes(world).find((known) => known.name === name)
      if (node === undefined) return { answer: affected([], { failed: [unknownNode(name)] }), texts: NODE_TEXTS }
      return { answer: await runOn(cluster, call, asked, entry, node), texts }
    }
    case 'nodes':
      return onNodes(cluster, call, asked, entry, texts)
  }
}

/** Throws 3023 at a worker without its master: such a worker answers nothing at all. */
export function requireMaster(entry: SimNode, world: World): void {
  if (entry.type === 'master') return
  const master = world.nodes.find(({ type }) => type === 'master')
  if (entry.clusterDaemonDown === true || master === undefined || master.clusterDaemonDown === true) {
    throw new V4Error(3023)
  }
}

function masterOf(world: World): SimNode {
  const master = world.nodes.find(({ type }) => type === 'master')
  if (master === undefined) throw new V4Error(3023)
  return master
}

/** Returns the nodes of the cluster, the master first. */
export function connectedNodes(world: World): SimNode[] {
  return world.nodes.filter((node) => node.clusterDaemonDown !== true)
}

/** The master answers for itself and for agents that are unknown or never connected. */
function ownerOf(id: string, world: World): string {
  const agent = world.agents.get(id)
  return id === '000' || agent?.node === undefined ? masterOf(world).name : agent.node
}

function connected(name: string, world: World, entry: SimNode): SimNode {
  const node = connectedNodes(world).find((known) => known.name === name)
  if (node === undefined) throw new V4Error(3022, entry.type === 'master' ? '' : name)
  return node
}

function unknownNode(name: string): Failed {
  return { id: name, error: new V4Error(1730) }
}

async function onNodes(cluster: Cluster, call: Call, asked: Unplaced, entry: SimNode, texts: Texts): Promise<Answered> {
  const known = connectedNodes(cluster.world).filter((node) => asked.allowsNamed(node.name))
  const names = membersOf(asked.query.nodes_list) ?? known.map(({ name }) => name)
  const nodes = known.filter(({ name }) => names.includes(name))
  const failed = names.filter((name) => !nodes.some((node) => node.name === name)).map(unknownNode)
  if (nodes.length === 0) return { answer: affected([], { failed }), texts: NODE_TEXTS }
  const parts = await Promise.all(nodes.map((node) => runOn(cluster, call, asked, entry, node)))
  return { answer: merge(parts, failed, 'name'), texts }
}

/** Each node gets the agents that report to it. Without a list, all agents that the user may name. */
async function onOwners(cluster: Cluster, call: Call, asked: Unplaced, entry: SimNode): Promise<Answer> {
  const { world } = cluster
  const listed = call.agents?.(asked) ?? membersOf(asked.query.agents_list)
  const all = listed === undefined || listed.includes('all')
  const ids = all ? [...world.agents.values()].filter(asked.allows).map(({ id }) => id) : listed
  const byOwner = new Map<string, string[]>()
  for (const id of new Set(ids)) {
    const owner = ownerOf(id, world)
    byOwner.set(owner, [...(byOwner.get(owner) ?? []), id])
  }
  const nodes = connectedNodes(world)
  const lost = [...byOwner.keys()].filter((name) => !nodes.some((node) => node.name === name))
  if (lost.length > 0 && lost.length === byOwner.size) connected(lost[0] ?? '', world, entry)
  const parts = nodes.flatMap((node) => {
    const own = byOwner.get(node.name)
    if (own === undefined) return []
    const part = { ...asked, query: { ...asked.query, agents_list: own.join(','), ...(all ? { whole: 'true' } : {}) } }
    return [runOn(cluster, call, part, entry, node)]
  })
  const failed = lost.map((name) => ({ id: name, error: new V4Error(3022) }))
  return merge(await allOrErrors(parts), failed, asked.query.sort ?? 'agent_id')
}

/** An error of any part fails the whole call, and names the node of each part that failed. */
async function allOrErrors(parts: readonly Promise<Answer>[]): Promise<Answer[]> {
  const settled = await Promise.allSettled(parts)
  const errors = settled.flatMap((part) => (part.status === 'rejected' ? [part.reason as unknown] : []))
  const [first] = errors
  if (first === undefined) return Promise.all(parts)
  if (!(first instanceof V4Error)) throw first
  first.nodes = Object.assign({}, ...errors.map((error) => (error instanceof V4Error ? error.nodes : {})))
  throw first
}

/** Merges by the fields of the sort; rows with equal values keep the order of the nodes. */
function merge(parts: readonly Answer[], failed: readonly Failed[], sort: string): Affected {
  const all = parts.filter((part): part is Affected => part.kind === 'affected')
  const sign = sort.startsWith('-') ? -1 : 1
  const fields = sort.replace(/^[+-]/, '').split(',')
  const values = (item: unknown) =>
    typeof item === 'object' && item !== null
      ? fields.map((field) => sortValue(fieldOf(item as Item, field)))
      : [sortValue(item)]
  const items = all
    .flatMap((part) => part.items.map((item) => ({ item, by: values(item) })))
    .sort((a, b) => {
      const at = a.by.findIndex((value, place) => valueOrder(value, b.by[place]) !== 0)
      return at < 0 ? 0 : sign * valueOrder(a.by[at], b.by[at])
    })
    .map(({ item }) => item)
  return affected(items, {
    total: all.reduce((sum, part) => sum + part.total, 0),
    failed: [...all.flatMap((part) => part.failed), ...failed],
  })
}

/** Ids of agents are compared as numbers. */
function sortValue(value: unknown): unknown {
  return typeof value === 'string' && /^\d{3,}$/.test(value) ? Number(value) : value
}
