/**
 * The node that an agent reports to, and requests that are forwarded to that node. In distribution mode `edge` only the owner has the data of
 * an agent: other nodes return empty results or claim success, so an unknown owner is an error and never a guess.
 *
 * Reads use a table that is refreshed in the background. Writes, and reads that found nothing, ask the master again.
 */

import { DEFAULT_LIMIT } from '../collections/request.ts'
import { rowsOf } from '../collections/rows.ts'
import { parseEnvelope } from '../core/envelope.ts'
import { isNotReadyError } from '../core/error-meanings.ts'
import { EdgeError } from '../core/errors.ts'
import { concatOwn } from '../core/long-values.ts'
import type { ClusterView } from '../core/node-call.ts'
import { nodeOriginOf } from '../core/origins.ts'
import type { EdgeRequest, Handler } from '../core/request.ts'
import type { EdgeResponse, EnvelopeResponse } from '../core/response.ts'
import { systemClock } from '../core/timing.ts'
import {
  type AgentOwner,
  type AgentOwnerMap,
  createOwnerLookup,
  MANAGER_AGENT_ID,
  type OwnerLookupPorts,
} from './owner-lookup.ts'
import { OwnerTable, type OwnerTablePorts } from './owner-table.ts'
import { createOwnerUnknownError, passNotReady } from './owner-unknown.ts'

/** By agent id: the name of the node to call, or the error 931 with the reason why there is none. */
export type NodeByAgent = Pick<ReadonlyMap<string, string | EdgeError>, 'get' | 'keys'>

interface AgentOwnersPorts extends OwnerLookupPorts {
  readonly view: ClusterView
  readonly lifetimes: OwnerTablePorts['lifetimes']
}

export type AgentOwners = ReturnType<typeof createAgentOwners>

export function createAgentOwners(ports: AgentOwnersPorts) {
  const { view, lifetimes } = ports
  const lookup = createOwnerLookup(ports)
  const table = new OwnerTable({ lookup, lifetimes, clock: systemClock.elapsed })
  const findOwners = async (ids: readonly string[], request: EdgeRequest): Promise<AgentOwnerMap> => {
    const startedAt = systemClock.elapsed()
    const found = await lookup.find(ids, request)
    table.correct(ids, found, startedAt)
    return found
  }
  /** As `ownerOf`, but asks the master now. */
  const verifiedOwner = async (id: string, request: EdgeRequest): Promise<string> => {
    if (id === MANAGER_AGENT_ID) return view.master().name
    const owner = (await findOwners([id], request)).get(id)
    // Nodes that do not distribute return empty collections for some reads of an agent that does not exist.
    if (owner === undefined) throw new EdgeError(1701)
    return nodeOrThrow(nodeOf(id, owner, view))
  }
  return {
    verifiedOwner,
    /**
     * Returns the node of an agent from the table, or asks the master for an agent that is not in the table. Throws 1701
     * if the agent does not exist, and 931.
     */
    ownerOf: async (id: string, request: EdgeRequest): Promise<string> => {
      if (id === MANAGER_AGENT_ID) return view.master().name
      const owner = (await table.soon(request))?.get(id)
      return owner === undefined ? verifiedOwner(id, request) : nodeOrThrow(nodeOf(id, owner, view))
    },
    /** Asks the master now for all these ids; the master is the node of ids that do not exist. Throws 931 if it does not respond. */
    verifiedOwners: async (ids: readonly string[], request: EdgeRequest): Promise<NodeByAgent> =>
      nodesOf(await findOwners(ids, request), view),
    /** Returns the table, with agent `000`. Throws 931. */
    allOwners: table.current.bind(table),
    /** Asks the master now for the members of a group, or returns the error of the manager. Throws 931. */
    groupMembers: async (group: string, request: EdgeRequest) => {
      const found = await lookup.findMembers(group, request)
      return found.owners === undefined ? found : { nodes: nodesOf(found.owners, view) }
    },
  }
}

/** Resolves the node of an agent when it is asked for: there may be 100,000 agents, and an error takes longer than a name. */
function nodesOf(owners: AgentOwnerMap, view: ClusterView): NodeByAgent {
  return { get: (id) => nodeOf(id, owners.get(id), view), keys: () => owners.keys() }
}

/** The master responds for agents that do not exist or have never connected. */
function nodeOf(id: string, owner: AgentOwner | undefined, view: ClusterView): string | EdgeError {
  if (id === MANAGER_AGENT_ID || owner === undefined || owner.kind === 'neverConnected') return view.master().name
  if (owner.kind !== 'node') return createOwnerUnknownError(`${id}: the master does not report its node`)
  const node = view.find(owner.node)
  if (node?.addressed) return node.name
  return createOwnerUnknownError(`${id}: ${owner.node} has no address in cluster.nodes`)
}

function nodeOrThrow(node: string | EdgeError): string {
  if (node instanceof EdgeError) throw node
  return node
}

interface ForwardToOwnerPorts {
  readonly owners: Pick<AgentOwners, 'ownerOf' | 'verifiedOwner'>
  readonly forward: Handler
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

async function cutPage(response: EnvelopeResponse, limit: number): Promise<EdgeResponse> {
  const found = await rowsOf(response.body, nodeOriginOf(response.origin)?.rows)
  if (!found.ok) return response
  const end = found.rows.ranges[limit * 2 - 1]
  if (end === undefined) return response
  const { body, origin } = response
  const cut = await concatOwn([body.subarray(0, end), body.subarray(found.rows.to)])
  return { ...response, body: cut, origin: origin.kind === 'node' ? { ...origin, rows: undefined } : origin }
}
