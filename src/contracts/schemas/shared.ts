/**
 * What several records share: targets (which node can answer), cache tags (which data a read depends on), and shapes of
 * responses and of request bodies.
 */
import type { CacheGroup, CachePolicy, Field, NodeTarget, ResponseShape, Tag } from '../endpoint.ts'
import type { SchemaName } from '../items/index.ts'

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

/** All nodes answer together. */
export const everyNode: NodeTarget = { kind: 'everyNode' }

/** Returns the target of rows of all agents; `ofAgent` is the path that reads the same rows of one agent. */
export function allAgents(ofAgent: `/${string}/:agent_id/${string}`): NodeTarget {
  return { kind: 'everyNode', ofAgent }
}

/** Kinds of data that the manager stores for each agent. */
const agentData = ['agent', 'syscheck', 'rootcheck', 'sca', 'syscollector', 'ciscat'] as const
type AgentData = (typeof agentData)[number]

/**
 * Returns a policy that stores a response for all callers: no v3 response depends on the permissions of the caller.
 * Nodes cut lists of the v4 contract to the rights of the account; `KeySettings.perUser` separates the callers if each
 * has its own.
 */
export function cacheIn(group: CacheGroup, ...tags: readonly Tag[]): CachePolicy {
  return { group, tags }
}

/** Returns the policy for verdicts: clients act on them at once, so none is served stale. */
export function neverStale(policy: CachePolicy): CachePolicy {
  return 'never' in policy ? policy : { ...policy, stale: 'never' }
}

/** Returns the policy for the status of nodes: clients watch it, and act on it. */
export function staleWhileHot(policy: CachePolicy): CachePolicy {
  return 'never' in policy ? policy : { ...policy, stale: 'whileHot' }
}

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

/** Returns the shape of a collection, `{items, totalItems}`. `schema`: of each item. */
export function collectionOf(schema: SchemaName): ResponseShape {
  return { data: 'collection', schema }
}

export function objectOf(schema: SchemaName): ResponseShape {
  return { data: 'object', schema }
}

export function textOf(schema: SchemaName): ResponseShape {
  return { data: 'text', schema }
}

/** A sentence for people. */
export const message: ResponseShape = { data: 'message', schema: 'Message' }

/** `{msg, affected_agents}`, with `failed_ids` if some agents failed. */
export const affected: ResponseShape = { data: 'affected', schema: 'AffectedAgents' }

export const scanTimes = objectOf('ScanTimes')

/** Every endpoint that accepts JSON also accepts a form: the user interface and the example scripts send forms. */
export const fieldTypes = ['application/json', 'application/x-www-form-urlencoded'] as const

/** A list is an array in JSON and a text with commas in a form. */
export const agentIdList: Field = {
  type: 'strings',
  kind: 'array_numbers',
  role: 'agent ids',
  required: 604,
  canonical: 'agentIds',
}
