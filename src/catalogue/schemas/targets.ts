/** Where answers live (design: targets). */
import type { MergeRule, Target, WhenPartial } from '../endpoint.ts'

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
