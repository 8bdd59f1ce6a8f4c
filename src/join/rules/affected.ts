/** Merge rule `affected`: each owner acts on its own agents; who was reached and who was not stands in one answer. */

import { EdgeError } from '../../core/errors.ts'
import type { EdgeResponse } from '../../core/response.ts'
import { ownField, ownText } from '../../core/values.ts'
import { type Act, jsonAnswer, refusedByAll, statusOf } from '../node-outcome.ts'

/** An owner and those of its agents that the request names; `act` absent: the owner is not known. */
export interface Share {
  readonly ids: readonly string[]
  readonly act: Act
}

/** Byte for byte as the manager writes them. */
const ALL = 'All selected agents were restarted'
const SOME = 'Some agents were not restarted'

/** `ids`: in the order of the request, which is that of the answer. */
export function joinAffected(ids: readonly string[], shares: readonly Share[]): EdgeResponse {
  const acts = shares.map(({ act }) => act)
  if (!acts.some(({ acted }) => acted)) return refusedByAll(acts)
  const reachedOf = new Map(shares.map((share) => [share.act, reachedBy(share)]))
  const reached = new Set([...reachedOf.values()].flat())
  const failures = new Map(shares.flatMap((share) => failuresOf(share, reached)))
  const order = [...new Set([...ids, ...reached, ...failures.keys()])]
  const failed = order.flatMap((id) => failures.get(id) ?? [])
  const data = {
    msg: failed.length === 0 ? ALL : SOME,
    affected_agents: order.filter((id) => reached.has(id)),
    ...(failed.length > 0 && { failed_ids: failed }),
  }
  return jsonAnswer(
    data,
    acts,
    statusOf(acts, (one) => ({ rows: reachedOf.get(one)?.length ?? 0 })),
  )
}

/** What a node says of agents that it was not asked for does not count, and what it says it failed of was not done. */
function reachedBy({ ids, act: { acted, contents } }: Share): readonly string[] {
  if (!acted) return []
  const named = new Set(affectedBy(contents.data))
  const failed = new Set(toldOf(contents.data).map(([id]) => id))
  return ids.filter((id) => named.has(id) && !failed.has(id))
}

type Failure = readonly [id: string, element: unknown]

/** What the owner names, or all its agents with what it failed of; and agents that it says nothing of. */
function failuresOf({ ids, act: { acted, contents, error } }: Share, reached: ReadonlySet<string>): readonly Failure[] {
  if (!acted) return ids.map((id) => [id, elementOf(id, error)])
  const told = toldOf(contents.data).filter(([id]) => ids.includes(id))
  const known = new Set(told.map(([id]) => id))
  const unsaid = ids.filter((id) => !known.has(id) && !reached.has(id))
  return [...told, ...unsaid.map((id): Failure => [id, elementOf(id, { code: 925, message: NOTHING_SAID })])]
}

function toldOf(data: unknown): readonly Failure[] {
  const list = ownField(data, 'failed_ids')
  return Array.isArray(list) ? list.map((element): Failure => [idOf(element), element]) : []
}

const NOTHING_SAID = new EdgeError(925, ' (the node says nothing of this agent)').message

function elementOf(id: string, error: Act['error']): unknown {
  return { id, error: { message: error?.message ?? '', code: error?.code ?? 0 } }
}

function affectedBy(data: unknown): readonly string[] {
  const list = ownField(data, 'affected_agents')
  return Array.isArray(list) ? list.map(String) : []
}

function idOf(element: unknown): string {
  return typeof element === 'string' ? element : (ownText(element, 'id') ?? '')
}
