/**
 * Decides which node executes a request: the receiving node, the master, the owner of an agent, or several nodes whose
 * responses are joined. With the manager's distribution switched off, the receiving node executes every request itself.
 */
import type { Endpoint } from '../../../src/contracts/endpoint.ts'
import type { FaultTable } from './faults.ts'
import type { Asked } from './filters.ts'
import { joinNodes, type PartAnswer } from './join.ts'
import { FrameworkError, type SimHandlers, type SimNode, type SimRequest, type World } from './model.ts'
import { refusal, texts } from './texts.ts'
import { type Sight, seenFrom, sightAlone } from './view.ts'
import { wait } from './wait.ts'

export interface Cluster {
  readonly world: World
  readonly handlers: SimHandlers
  readonly faults: FaultTable
  /** Takes the time that a node needs for a call that another node passes on. */
  forwarded(node: string): Promise<void>
}

export interface Call extends Asked {
  readonly endpoint: Endpoint
  /** The node whose API received the request. */
  readonly entry: SimNode
  readonly client: string
  readonly waitForComplete: boolean
}

/** `data` of the response, or the FrameworkError in its place. */
export async function execute(cluster: Cluster, call: Call): Promise<unknown> {
  const { world } = cluster
  if (!(call.entry.distributes ?? world.distributed)) return alone(cluster, call)
  const { target } = call.endpoint
  if (target.kind === 'anyNode' || (target.kind === 'master' && target.through !== 'any')) {
    return carryOut(cluster, call, call.entry, 'whole')
  }
  const master = throughMaster(call.entry, world)
  switch (target.kind) {
    case 'node':
      return carryOut(cluster, call, connected(call.params.node_id, world), 'whole')
    case 'agentOwner':
      // The master looks the agent up before it forwards a request.
      if (!world.agents.has(call.params.agent_id ?? '')) throw refusal(1701)
      return carryOut(cluster, call, ownerOf(call.params.agent_id, world), 'whole')
    case 'agentOwners':
      return joined(cluster, call, byOwner(call, target.ids, world))
    case 'everyNode':
      return everyNode(cluster, call)
    default:
      return carryOut(cluster, call, master, 'whole')
  }
}

/**
 * Nodes without distribution return empty reads silently, and their writes report success (as observed on a real
 * cluster).
 */
async function alone(cluster: Cluster, call: Call): Promise<unknown> {
  const { target } = call.endpoint
  if (target.kind === 'node') throw new FrameworkError(1000, 'Internal error')
  return carryOut(cluster, call, call.entry, sightAlone(call.endpoint, call.entry))
}

/** A worker first forwards everything that is not its own to the master. */
function throughMaster(entry: SimNode, world: World): SimNode {
  const master = masterOf(world)
  if (entry.clusterDaemonDown === true || master.clusterDaemonDown === true) throw refusal(3012)
  return master
}

function masterOf(world: World): SimNode {
  const master = world.nodes.find((node) => node.type === 'master')
  if (master === undefined) throw refusal(3012)
  return master
}

function connected(name: string | undefined, world: World): SimNode {
  const node = world.nodes.find((known) => known.name === name)
  if (node === undefined || node.clusterDaemonDown === true) throw refusal(3022)
  return node
}

/** The master owns agents that are unknown or never connected. */
function ownerOf(id: string | undefined, world: World): SimNode {
  const owner = world.agents.get(id ?? '')?.node
  return owner === undefined ? masterOf(world) : connected(owner, world)
}

interface Part {
  readonly node: SimNode
  readonly fields: Asked['fields']
}

function byOwner(call: Call, by: 'body' | 'group', world: World): Part[] {
  if (by === 'group') {
    const group = call.params.group_id ?? ''
    const members = [...world.agents.values()].filter((agent) => agent.groups.includes(group))
    if (members.length === 0) throw refusal(1750)
    const nodes = new Set([masterOf(world), ...members.map((agent) => ownerOf(agent.id, world))])
    return joinOrder([...nodes]).map((node) => ({ node, fields: call.fields }))
  }
  const ids = idsOf(call.fields.ids)
  const nodes = ids.length === 0 ? [masterOf(world)] : [...new Set(ids.map((id) => ownerOf(id, world)))]
  return joinOrder(nodes).map((node) => {
    return { node, fields: { ...call.fields, ids: ids.filter((id) => ownerOf(id, world) === node) } }
  })
}

/** Parses a list or a text with commas; each id gets three digits. */
export function idsOf(value: unknown): string[] {
  const ids = Array.isArray(value) ? value.map(String) : String(value ?? '').split(',')
  return ids.filter((id) => id !== '').map((id) => id.padStart(3, '0'))
}

function joinOrder(nodes: readonly SimNode[]): SimNode[] {
  return nodes.toSorted((a, b) => (a.name < b.name ? 1 : -1))
}

/** What the manager reports as the node of an agent that never connected. */
const UNKNOWN_NODE = 'unknown'

/**
 * Every node that is named as the node of an agent; for requests about the cluster itself, every node. The master is also
 * called for the node `unknown`: if some agent never connected, the master executes the request twice.
 */
async function everyNode(cluster: Cluster, call: Call): Promise<unknown> {
  const { world } = cluster
  if (call.endpoint.path.startsWith('/cluster/')) return clusterWide(cluster, call)
  const names = new Set([...world.agents.values()].map(({ node }) => node ?? UNKNOWN_NODE))
  // In the order of `joinOrder`, with the name `unknown` for the second time.
  const nodes = [...names]
    .sort((a, b) => (a < b ? 1 : -1))
    .map((name) => (name === UNKNOWN_NODE ? masterOf(world) : connected(name, world)))
  return joined(
    cluster,
    call,
    nodes.map((node) => ({ node, fields: call.fields })),
  )
}

/** All nodes act, but of the workers only the first response counts. */
async function clusterWide(cluster: Cluster, call: Call): Promise<unknown> {
  const workers = cluster.world.nodes.filter((node) => node.type === 'worker' && node.clusterDaemonDown !== true)
  const asked = workers.map((node) => part(cluster, call, { node, fields: call.fields }))
  const master = part(cluster, call, { node: masterOf(cluster.world), fields: call.fields })
  const workerResponses = asked.length === 0 ? [] : [await Promise.race(asked)]
  return joinNodes([...workerResponses, await master], call.query, cluster.world.now())
}

async function joined(cluster: Cluster, call: Call, parts: readonly Part[]): Promise<unknown> {
  const answers = await Promise.all(parts.map((each) => part(cluster, call, each)))
  return joinNodes(answers, call.query, cluster.world.now())
}

async function part(cluster: Cluster, call: Call, { node, fields }: Part): Promise<PartAnswer> {
  try {
    return { data: await carryOut(cluster, { ...call, fields }, node, 'local') }
  } catch (failure) {
    if (failure instanceof FrameworkError) return { failure }
    throw failure
  }
}

/** Returns the key of an endpoint in the table; the path of a named node is that of its twin. */
export function handlerKey({ method, path, target }: Endpoint): string {
  return `${method} ${target.kind === 'node' ? target.twin : path}`
}

async function carryOut(cluster: Cluster, call: Call, node: SimNode, sight: Sight): Promise<unknown> {
  const { world, handlers, faults } = cluster
  const key = handlerKey(call.endpoint)
  if (node !== call.entry) {
    await sufferInside(faults.inside(node.name), key)
    await cluster.forwarded(node.name)
  }
  if (node.startedAt > world.now() && !isStatus(key)) throw refusal(1017)
  const handler = handlers[key]
  if (handler === undefined) throw new Error(`No handler for ${key}`)
  const { params, query, fields, text, client, waitForComplete } = call
  const request: SimRequest = {
    world: seenFrom(node, world, sight),
    node,
    params,
    query,
    fields,
    text,
    client,
    waitForComplete,
  }
  return handler(request)
}

async function sufferInside(fault: ReturnType<FaultTable['of']>, key: string): Promise<void> {
  if (fault.delay !== undefined) await wait(fault.delay)
  if (fault.error !== undefined) throwFault(fault.error, key)
}

/** Every request except the two status requests gives 1017 while the node is not ready. */
export function throwFault(code: number, key: string): void {
  if (code === 1017 && isStatus(key)) return
  throw new FrameworkError(
    code,
    Object.entries(texts).find(([known]) => known === String(code))?.[1] ?? 'Simulated fault',
  )
}

function isStatus(key: string): boolean {
  return key === 'GET /manager/status' || key === 'GET /cluster/status'
}
