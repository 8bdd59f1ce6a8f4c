/** Which agents a joined read must fetch from which node, by the owner table. */
import type { EdgeRead } from '../core/request.ts'
import { withTimeout } from '../core/timing.ts'
import { compareText } from '../query/value.ts'
import type { JoinedRead } from './joined-read.ts'
import { type PartError, toPartError } from './node-part.ts'
import { type AgentOwnerMap, createOwnerUnknownError, MANAGER_AGENT_ID } from './owner-lookup.ts'

/** An agent, and the node under whose name its rows are reported. */
export interface OwnedAgent {
  readonly id: string
  readonly node: string
}

/** In a list over all agents a node reads no more than this number of agents of the whole cluster. */
export const MAX_WALKED_AGENTS = 500

export type LoadedOwners =
  | { readonly owners: AgentOwnerMap; readonly error?: never }
  | { readonly owners?: never; readonly error: PartError }

/** Returns the owner table. Runs while the nodes are asked for their pages, which often need no owners. */
export async function loadOwners(read: JoinedRead): Promise<LoadedOwners> {
  const { request, fanOut } = read
  try {
    const owners = await withTimeout(findOwners(read), fanOut.deadline - performance.now(), undefined)
    if (owners !== undefined) return { owners }
    return { error: toPartError(createOwnerUnknownError('the master did not respond in time')) }
  } catch (error) {
    request.client.signal.throwIfAborted()
    return { error: toPartError(error) }
  }
}

async function findOwners({ request, ports }: JoinedRead): Promise<AgentOwnerMap> {
  const owners = await ports.owners.allOwners(request)
  const unknown = [...(namedIds(request) ?? [])].filter((id) => !owners.has(id))
  if (unknown.length === 0) return owners
  // Agents that the request names may be newer than the table.
  await ports.owners.verifiedOwners(unknown, request)
  return ports.owners.allOwners(request)
}

/** Returns the owners if they are available without waiting for I/O. */
export function ownersIfReady(owners: Promise<LoadedOwners>): Promise<LoadedOwners | undefined> {
  const later = new Promise<undefined>((resolve) => {
    setImmediate(resolve, undefined)
  })
  return Promise.race([owners, later])
}

function namedIds({ query }: EdgeRead): ReadonlySet<string> | undefined {
  return query.agent_id === undefined ? undefined : new Set(query.agent_id.split(','))
}

/** Returns a predicate for the agents that the request names; without names, all agents. */
export function createAgentFilter(request: EdgeRead): (id: string) => boolean {
  const named = namedIds(request)
  return (id) => named?.has(id) ?? true
}

/** Returns the agents of a node in the order of their ids, with `000` for the node itself. */
export function agentsOf(node: string, owners: AgentOwnerMap): readonly OwnedAgent[] {
  const ids = [...owners.keys()].filter((id) => id !== MANAGER_AGENT_ID && isOwner(node, id, owners))
  return [MANAGER_AGENT_ID, ...ids.sort(compareAgentIds)].map((id) => ({ id, node }))
}

/** Whether the table has this node as the owner of an agent. */
export function isOwner(node: string, id: string, owners: AgentOwnerMap): boolean {
  const owner = owners.get(id)
  return owner?.kind === 'node' && owner.node === node
}

/** Returns all agents with a known node, by node with the master first, then by name of the node, then by id. */
export function agentsInOrder(owners: AgentOwnerMap, master: string): readonly OwnedAgent[] {
  const agents = [...owners].flatMap(([id, owner]) => {
    if (id === MANAGER_AGENT_ID) return [{ id, node: master }]
    return owner.kind === 'node' ? [{ id, node: owner.node }] : []
  })
  const rank = (node: string) => (node === master ? 0 : 1)
  return agents.sort((a, b) => {
    return rank(a.node) - rank(b.node) || compareText(a.node, b.node) || compareAgentIds(a.id, b.id)
  })
}

function compareAgentIds(a: string, b: string): number {
  return Number(a) - Number(b)
}

const lastWalkedIds = new WeakMap<AgentOwnerMap, number>()

/** Returns the last id that nodes read in a list over all agents; computed once per owner table. */
function lastWalkedId(owners: AgentOwnerMap): number {
  const known = lastWalkedIds.get(owners)
  if (known !== undefined) return known
  const last = [...owners.keys()].map(Number).sort((a, b) => a - b)[MAX_WALKED_AGENTS - 1] ?? 0
  lastWalkedIds.set(owners, last)
  return last
}

/** Whether a node has agents that are missing in its list over all agents. */
export type ExceedsWalk = (node: string, owners: AgentOwnerMap | undefined) => boolean

/** Creates a check for one request; it iterates over the agents once for all nodes. */
export function createWalkCheck(): ExceedsWalk {
  let nodes: Set<string> | undefined
  return (node, owners) => {
    if (owners === undefined || owners.size <= MAX_WALKED_AGENTS) return false
    if (nodes === undefined) {
      nodes = new Set()
      const last = lastWalkedId(owners)
      for (const [id, owner] of owners) if (owner.kind === 'node' && Number(id) > last) nodes.add(owner.node)
    }
    return nodes.has(node)
  }
}

/** Reports agents that have connected, but whose node is unknown: no node returns their rows. */
export function reportUnreachableAgents(
  { request, report }: JoinedRead,
  owners: AgentOwnerMap,
  isKnownNode: (node: string) => boolean,
): void {
  const isRequested = createAgentFilter(request)
  const idsByNode = new Map<string, string[]>()
  for (const [id, owner] of owners) {
    if (id === MANAGER_AGENT_ID || owner.kind === 'neverConnected' || !isRequested(id)) continue
    if (owner.kind === 'node' && isKnownNode(owner.node)) continue
    const node = owner.kind === 'node' ? owner.node : 'unknown'
    const ids = idsByNode.get(node)
    if (ids === undefined) idsByNode.set(node, [id])
    else ids.push(id)
  }
  for (const [node, ids] of idsByNode) report.addError(node, toPartError(createOwnerUnknownError(listFirst(ids))))
}

function listFirst(ids: readonly string[]): string {
  return ids.slice(0, 10).join(', ') + (ids.length > 10 ? ' …' : '')
}
