/** Merge rule `affected`: each owner acts on its own agents, and one response lists the affected and the failed ones. */
import { EdgeError } from '../../core/errors.ts'
import type { EdgeResponse } from '../../core/response.ts'
import { ownField, ownText } from '../../core/values.ts'
import { clusterStatusOf, createJsonResponse, type NodeOutcome, respondWithRefusal } from '../node-outcome.ts'

/** The outcome of a call to an owner, with the requested agents that it was sent for. */
export interface OwnerOutcome {
  readonly ids: readonly string[]
  readonly outcome: NodeOutcome
}

/** The texts of the manager. */
const ALL_RESTARTED = 'All selected agents were restarted'
const SOME_NOT_RESTARTED = 'Some agents were not restarted'

/** `ids`: the requested agents; the response has their order. */
export function mergeAffected(ids: readonly string[], byOwner: readonly OwnerOutcome[]): EdgeResponse {
  const outcomes = byOwner.map(({ outcome }) => outcome)
  if (!outcomes.some(({ succeeded }) => succeeded)) return respondWithRefusal(outcomes)
  const affectedByOutcome = new Map(byOwner.map((owner) => [owner.outcome, affectedIds(owner)]))
  const affected = new Set([...affectedByOutcome.values()].flat())
  const failures = new Map(byOwner.flatMap((owner) => failuresOf(owner, affected)))
  const order = [...new Set([...ids, ...affected, ...failures.keys()])]
  const failed = order.flatMap((id) => failures.get(id) ?? [])
  const data = {
    msg: failed.length === 0 ? ALL_RESTARTED : SOME_NOT_RESTARTED,
    affected_agents: order.filter((id) => affected.has(id)),
    ...(failed.length > 0 && { failed_ids: failed }),
  }
  const clusterStatus = clusterStatusOf(outcomes, (outcome) => ({ rows: affectedByOutcome.get(outcome)?.length ?? 0 }))
  return createJsonResponse(data, outcomes, clusterStatus)
}

/** Agents that were not requested from this node do not count, nor do agents that it lists as failed too. */
function affectedIds({ ids, outcome: { succeeded, contents } }: OwnerOutcome): readonly string[] {
  if (!succeeded) return []
  const affected = ownField(contents.data, 'affected_agents')
  const listed = new Set(Array.isArray(affected) ? affected.map(String) : [])
  const failed = new Set(listedFailures(contents.data).map(([id]) => id))
  return ids.filter((id) => listed.has(id) && !failed.has(id))
}

type Failure = readonly [id: string, element: unknown]

/** Returns the failures that the owner lists, or all its agents if it failed, and the agents that it does not mention. */
function failuresOf(
  { ids, outcome: { succeeded, contents, error } }: OwnerOutcome,
  affected: ReadonlySet<string>,
): readonly Failure[] {
  if (!succeeded) return ids.map((id) => [id, createFailure(id, error)])
  const requested = new Set(ids)
  const listed = listedFailures(contents.data).filter(([id]) => requested.has(id))
  const listedIds = new Set(listed.map(([id]) => id))
  const unmentioned = ids.filter((id) => !listedIds.has(id) && !affected.has(id))
  return [...listed, ...unmentioned.map((id): Failure => [id, createFailure(id, UNMENTIONED)])]
}

function listedFailures(data: unknown): readonly Failure[] {
  const list = ownField(data, 'failed_ids')
  return Array.isArray(list) ? list.map((element): Failure => [idOf(element), element]) : []
}

const UNMENTIONED = { code: 925, message: new EdgeError(925, ' (the node does not mention this agent)').message }

function createFailure(id: string, error: NodeOutcome['error']): unknown {
  return { id, error: { message: error?.message ?? '', code: error?.code ?? 0 } }
}

function idOf(element: unknown): string {
  return typeof element === 'string' ? element : (ownText(element, 'id') ?? '')
}
