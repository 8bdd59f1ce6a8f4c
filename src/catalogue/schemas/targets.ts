import type { CacheGroup, CachePolicy, MergeRule, Tag, Target, WhenPartial } from '../endpoint.ts'

/** Where answers live (design: targets). */

/** Agents, groups, lists, cluster facts: a worker hands the call to the master under the same path. */
export const master: Target = { kind: 'master', through: 'any' }
/** What a node says of itself: through a worker only as `/cluster/<master>/…`, else the worker would speak of itself. */
export const masterByTwin: Target = { kind: 'master', through: 'twin' }
/** What a node says of itself and has no twin: the master, or nobody. */
export const masterItself: Target = { kind: 'master', through: 'none' }
export const anyNode: Target = { kind: 'anyNode' }
export const agentOwner: Target = { kind: 'agentOwner' }

export function everyNode(merge: MergeRule, whenPartial: WhenPartial): Target {
  return { kind: 'everyNode', merge, whenPartial }
}

/** Rows of all agents, which `ofAgent` reads of one. */
export function allAgents(ofAgent: `/${string}/:agent_id/${string}`): Target {
  return { kind: 'everyNode', merge: 'collection', whenPartial: 'label', ofAgent }
}

/** Which data a read shows and a write touches. What tags mean is said at `Tag`. */

/** What the manager keeps about each agent, under its id. */
const agentData = ['agent', 'syscheck', 'rootcheck', 'sca', 'syscollector', 'ciscat'] as const
type AgentData = (typeof agentData)[number]

/** No answer of the classic interface depends on the rights of its reader. */
export function keepIn(group: CacheGroup, ...tags: readonly Tag[]): CachePolicy {
  return { group, tags, scope: 'everyone' }
}

/** The tags of a read of one agent's data. */
export function ofAgent(data: AgentData): readonly Tag[] {
  return [`${data}:{agent_id}`, `${data}:*`]
}

/** Reads over all agents and their groups, and the health of nodes, which counts active agents. */
export const memberships: readonly Tag[] = ['collection:agents', 'collection:groups']
export const liveAgents: readonly Tag[] = ['collection:agents', 'cluster']

/** All that is kept about the agents that `ids` names, when they come or go: `{agent_id}`, `{query.ids}`, `*`. */
export function wholeAgent(ids: string): readonly Tag[] {
  return agentData.map((data) => `${data}:${ids}`)
}

/** What is read over all agents at once and loses rows when one goes. */
export const overAllAgents: readonly Tag[] = [...memberships, 'collection:syscollector', 'collection:ciscat', 'cluster']
