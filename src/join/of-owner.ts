/** Per-agent calls in mode `edge`: the node that the agent reports to, and nobody else. */
import { parseEnvelope } from '../core/envelope.ts'
import type { AsyncHandler } from '../core/request.ts'
import type { EdgeResponse } from '../core/response.ts'
import { notKnown } from './home.ts'
import type { Owners } from './owners.ts'

export interface OfOwnerPorts {
  readonly owners: Pick<Owners, 'ownerOf' | 'verifiedOwner'>
  readonly forward: AsyncHandler
}

/** Throws 931 where the owner is not known, else as `forward` does. */
export function ofOwner({ owners, forward }: OfOwnerPorts): AsyncHandler {
  return async (ask) => {
    const id = ask.params.agent_id ?? ''
    // Another node would say that it acted, and nothing would happen.
    if (ask.endpoint.method !== 'GET') return forward({ ...ask, node: await owners.verifiedOwner(id, ask) })
    let node = await owners.ownerOf(id, ask)
    for (let moves = 0; moves < MOST_MOVES; moves += 1) {
      const answer = await forward({ ...ask, node })
      if (!maybeOfAnother(answer)) return answer
      const now = await owners.verifiedOwner(id, ask)
      if (now === node) return answer
      node = now
    }
    throw notKnown(`${id}: it moves from node to node`)
  }
}

/** While one request is answered. */
const MOST_MOVES = 3

/** How the manager writes a time that is not known. */
const NO_TIME = 'ND'

/** Beyond it an answer holds something. */
const MOST_EMPTY = 512

/**
 * Could a node answer so because the agent reports to another one? Empty answers, and refusals; those of the request
 * itself (14xx, 1724) and of an agent that does not exist (1701, the master's word) are the same from everywhere.
 */
function maybeOfAnother(answer: EdgeResponse): boolean {
  if (answer.kind !== 'json' || answer.body.length > MOST_EMPTY) return false
  const { error, data } = parseEnvelope(answer)
  if (error === 0) return isEmpty(data)
  return error !== 1701 && error !== 1724 && (error < 1400 || error > 1499)
}

/** Nothing in it, at any depth; a total alone says that there is something on another page. */
function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined || value === '' || value === 0 || value === NO_TIME) return true
  if (Array.isArray(value)) return value.every(isEmpty)
  return typeof value === 'object' && Object.values(value).every(isEmpty)
}
