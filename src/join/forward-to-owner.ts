/** Requests about one agent: the node that gets them, and pages that nodes do not cut. */
import { isNotReadyError, parseEnvelope } from '../core/envelope.ts'
import type { EdgeRequest, Handler } from '../core/request.ts'
import { type EdgeResponse, type EnvelopeResponse, nodeOriginOf } from '../core/response.ts'
import { DEFAULT_LIMIT } from '../query/request.ts'
import { advanceRow, createRowCursor, rowsOf } from '../rows/rows.ts'
import type { AgentOwners } from './agent-owners.ts'
import { createOwnerUnknownError, MasterNotReadyError } from './owner-lookup.ts'

interface ForwardToOwnerPorts {
  readonly owners: Pick<AgentOwners, 'ownerOf' | 'verifiedOwner'>
  readonly forward: Handler
}

/**
 * Returns a handler that responds as the master does while it is not ready and `handler` needs it to find owners. Clients
 * wait until that error is over.
 */
export function passNotReady<R extends EdgeRequest>(handler: Handler<R>): Handler<R> {
  return async (request) => {
    try {
      return await handler(request)
    } catch (error) {
      if (error instanceof MasterNotReadyError) return error.response
      throw error
    }
  }
}

/** Returns the handler of endpoints for one agent. Throws 1701 and 931 as `AgentOwners` does, else as `forward` does. */
export function forwardToOwner({ owners, forward }: ForwardToOwnerPorts): Handler {
  return passNotReady(async (request: EdgeRequest) => {
    const id = request.params.agent_id ?? ''
    // A node that is not the owner would claim success for a write without doing anything.
    if (request.kind === 'write') {
      return forward({ ...request, extent: { node: await owners.verifiedOwner(id, request) } })
    }
    let node = await owners.ownerOf(id, request)
    for (let moves = 0; moves < MAX_MOVES_PER_REQUEST; moves += 1) {
      const response = await forward({ ...request, extent: { node } })
      if (!mayBeOfOtherNode(response)) return response
      const verified = await owners.verifiedOwner(id, request)
      if (verified === node) return response
      node = verified
    }
    throw createOwnerUnknownError(`${id}: it moves from node to node`)
  })
}

const MAX_MOVES_PER_REQUEST = 3

/** What the manager writes for a time that it does not have. */
const NO_TIME = 'ND'

/** A longer response is not empty. */
const MAX_EMPTY_BYTES = 512

/**
 * Whether a node may have responded like this because the agent reports to another node: with an empty result, or with
 * an error other than those of the request (14xx, 1724), of an agent that does not exist (1701) and of a node that is
 * not ready.
 */
function mayBeOfOtherNode(response: EdgeResponse): boolean {
  if (response.kind === 'file' || response.body.length > MAX_EMPTY_BYTES) return false
  const { error, data } = parseEnvelope(response)
  if (error === 0) return isEmpty(data)
  if (isNotReadyError(error)) return false
  return error !== 1701 && error !== 1724 && (error < 1400 || error > 1499)
}

/** Whether a value contains nothing at any depth. A total above 0 means that another page has rows. */
function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined || value === '' || value === 0 || value === NO_TIME) return true
  if (Array.isArray(value)) return value.every(isEmpty)
  return typeof value === 'object' && Object.values(value).every(isEmpty)
}

const ROWS_PER_PART = 20

/**
 * Returns a handler whose pages have at most as many rows as the request wants. A node of releases 3.x reads the database
 * of an agent 20 rows at a time and does not cut the last 20, so that a page may have rows of the next one.
 */
export function cutPages(next: Handler): Handler {
  return async (request) => {
    const response = await next(request)
    const limit = Number(request.query.limit ?? DEFAULT_LIMIT)
    const isWhole =
      limit < ROWS_PER_PART || limit % ROWS_PER_PART === 0 || request.endpoint.response.data !== 'collection'
    return isWhole || response.kind === 'file' || response.errorNumber !== 0 ? response : cutPage(response, limit)
  }
}

function cutPage(response: EnvelopeResponse, limit: number): EdgeResponse {
  const found = rowsOf(response.body, nodeOriginOf(response.origin)?.rows)
  if (!found.ok) return response
  const cursor = createRowCursor(found.rows)
  while (cursor.index < limit - 1) if (!advanceRow(cursor)) return response
  const { body, origin } = response
  const cut = Buffer.concat([body.subarray(0, cursor.to), body.subarray(found.rows.to)])
  return { ...response, body: cut, origin: origin.kind === 'node' ? { ...origin, rows: undefined } : origin }
}
