/** Targets (which node can answer) and cache tags (which data a read depends on) that several records share. */
import type { CacheGroup, CachePolicy, MergeRule, NodeTarget, Tag, WhenPartial } from '../endpoint.ts'

/** Agents, groups, lists, facts of the cluster. A worker forwards such a request to the master under the same path. */
export const master: NodeTarget = { kind: 'master', through: 'any' }
/**
 * Facts of the master itself that have a twin. A worker must be asked for `/cluster/<master>/…`; under `/manager/…` it
 * would answer about itself.
 */
export const masterByTwin: NodeTarget = { kind: 'master', through: 'twin' }
/** Facts of the master itself without a twin: no worker can answer in its place. */
export const masterItself: NodeTarget = { kind: 'master', through: 'none' }
export const anyNode: NodeTarget = { kind: 'anyNode' }
export const agentOwner: NodeTarget = { kind: 'agentOwner' }

/** Returns the target of a request that all nodes answer together. */
export function everyNode(merge: MergeRule, whenPartial: WhenPartial): NodeTarget {
  return { kind: 'everyNode', merge, whenPartial }
}

/** Returns the target of rows of all agents; `ofAgent` is the path that reads the same rows of one agent. */
export function allAgents(ofAgent: `/${string}/:agent_id/${string}`): NodeTarget {
  return { kind: 'everyNode', merge: 'collection', whenPartial: 'label', ofAgent }
}

/** Kinds of data that the manager stores for each agent. */
const agentData = ['agent', 'syscheck', 'rootcheck', 'sca', 'syscollector', 'ciscat'] as const
type AgentData = (typeof agentData)[number]

/**
 * Returns a policy that stores a response for all callers: no classic response depends on the permissions of the caller.
 * Nodes cut lists of the newer contract to the rights of the account; `KeySettings.perUser` separates the callers if each
 * has its own.
 */
export function cacheIn(group: CacheGroup, ...tags: readonly Tag[]): CachePolicy {
  return { group, tags, scope: 'everyone' }
}

/** Returns the policy for verdicts: clients act on them at once, so none is served stale. */
export function neverStale(policy: CachePolicy): CachePolicy {
  return 'never' in policy ? policy : { ...policy, stale: 'never' }
}

/** Returns the policy for the status of nodes: clients watch it, and act on it. */
export function staleWhileHot(policy: CachePolicy): CachePolicy {
  return 'never' in policy ? policy : { ...policy, stale: 'whileHot' }
}

/** Returns the tags of a read of one agent's data. */
export function ofAgent(data: AgentData): readonly Tag[] {
  return [`${data}:{agent_id}`, `${data}:*`]
}

/**
 * Reads over all agents and their groups. `liveAgents` includes the health of the nodes, which counts active agents.
 */
export const memberships: readonly Tag[] = ['collection:agents', 'collection:groups']
export const liveAgents: readonly Tag[] = ['collection:agents', 'cluster']

/** Returns the tags of all data of agents that are added or removed. `ids` is `{agent_id}`, `{query.ids}` or `*`. */
export function wholeAgent(ids: string): readonly Tag[] {
  return agentData.map((data) => `${data}:${ids}`)
}

/** Tags of reads over all agents, which lose rows when an agent is removed. */
export const overAllAgents: readonly Tag[] = [...memberships, 'collection:syscollector', 'collection:ciscat', 'cluster']
