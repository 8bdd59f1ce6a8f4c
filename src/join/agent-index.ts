/** The agents of an owner table by node, in the order of their ids. Made once for a table, in turns of the event loop. */

import { selectFirst } from '../core/long-lists.ts'
import { isTurnOver, waitForTurn } from '../core/turns.ts'
import { type AgentOwnerMap, MANAGER_AGENT_ID } from './owner-lookup.ts'

/** An agent, and the node under whose name its rows are reported. */
export interface OwnedAgent {
  readonly id: string
  readonly node: string
}

export interface AgentIndex {
  /** Without `000`, which is each node itself. */
  readonly byNode: ReadonlyMap<string, readonly OwnedAgent[]>
  /** The agents that have connected, but whose node is unknown. */
  readonly unknown: readonly string[]
  /** Whether the node of some agents is unknown, also because they never connected. */
  readonly hasUnknown: boolean
  /** The agents that nodes read in a list over all agents, in the order of their ids. */
  readonly listedIds: readonly string[]
}

/** In a list over all agents a node reads no more than this number of agents of the whole cluster. */
export const MAX_LISTED_AGENTS = 500

const indexes = new WeakMap<AgentOwnerMap, Promise<AgentIndex>>()

export function indexAgents(table: AgentOwnerMap): Promise<AgentIndex> {
  const known = indexes.get(table) ?? createIndex(table)
  indexes.set(table, known)
  return known
}

async function createIndex(table: AgentOwnerMap): Promise<AgentIndex> {
  const listed = new Map<string, OwnedAgent[]>()
  const ids: string[] = []
  const unknown: string[] = []
  let hasUnknown = false
  for (const [id, owner] of table) {
    if (isTurnOver()) await waitForTurn()
    ids.push(id)
    if (owner.kind !== 'node') hasUnknown = true
    if (owner.kind === 'unknown') unknown.push(id)
    if (owner.kind !== 'node' || id === MANAGER_AGENT_ID) continue
    const agents = listed.get(owner.node)
    if (agents === undefined) listed.set(owner.node, [{ id, node: owner.node }])
    else agents.push({ id, node: owner.node })
  }
  const byNode = new Map<string, readonly OwnedAgent[]>()
  for (const [node, agents] of listed) {
    byNode.set(node, (await selectFirst(agents, (agent) => agent, compareAgents, agents.length)).first)
  }
  const toItem = (id: string) => ({ id })
  const { first } = await selectFirst(ids, toItem, compareAgents, MAX_LISTED_AGENTS)
  return { byNode, unknown, hasUnknown, listedIds: first.map(({ id }) => id) }
}

export function compareAgents(a: Pick<OwnedAgent, 'id'>, b: Pick<OwnedAgent, 'id'>): number {
  return Number(a.id) - Number(b.id)
}
