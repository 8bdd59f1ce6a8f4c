/** Owners of agents as the master reports them: of all agents, of given agents, or of the members of a group. */

import { MAX_LIMIT } from '../collections/request.ts'
import type { ReadEndpoint } from '../contracts/endpoint.ts'
import { parseEnvelope } from '../core/envelope.ts'
import { isNotReadyError } from '../core/error-meanings.ts'
import { EdgeError } from '../core/errors.ts'
import { nodeOfAgent } from '../core/node-call.ts'
import { cachedOf } from '../core/origins.ts'
import { type Caller, createNoClient, type EdgeRead, type EdgeRequest, type Handler, NO_COST } from '../core/request.ts'
import type { EdgeResponse } from '../core/response.ts'
import { waitForJsonTurn } from '../core/turns.ts'
import { ownField, ownText } from '../core/values.ts'
import { createOwnerUnknownError, isErrorOfCaller, MasterNotReadyError } from './owner-unknown.ts'
import { throwIfAbandoned } from './proxy-errors.ts'

/** The node that an agent reports to. `unknown`: the agent has connected, but the master does not name its node. */
export type AgentOwner =
  | { readonly kind: 'node'; readonly node: string }
  | { readonly kind: 'neverConnected' | 'unknown' }

export type AgentOwnerMap = ReadonlyMap<string, AgentOwner>

/** Every node is agent `000` to itself; clients mean the master by this id. */
export const MANAGER_AGENT_ID = '000'

export interface OwnerLookupPorts {
  readonly endpoints: {
    /** `GET /agents` */
    readonly agents: ReadEndpoint
    /** `GET /agents/groups/:group_id` */
    readonly members: ReadEndpoint
  }
  /** The handler of reads, with its cache. */
  readonly read: Handler<EdgeRead>
}

export interface AllOwners {
  readonly owners: Map<string, AgentOwner>
  /** Age of the oldest response that it was read from, in milliseconds. */
  readonly age: number
  /** Milliseconds that the calls for all of them took, whichever replica sent them. */
  readonly fetchTime: number
}

const FIELDS = 'id,node_name,status'
/** The URL with this many ids is well below the maximum length of the real API. */
const MAX_IDS_PER_CALL = 100
/** The owners of more agents are read from the pages of all agents: a page has ten times as many agents. */
const MAX_IDS_BY_NAME = 1000
/** A list that is longer than a million agents is an error of the node. */
const MAX_PAGES = 1000

export type OwnerLookup = ReturnType<typeof createOwnerLookup>

export function createOwnerLookup({ endpoints, read }: OwnerLookupPorts) {
  return {
    /**
     * Returns the owners of all agents; may be served from the cache. Throws 931. The table has its own stale time, so it
     * is not made of stale responses. `maxAge`: of pages that took these milliseconds to fetch.
     */
    findAll: async (request: EdgeRequest, maxAge: (fetchTime: number) => number): Promise<AllOwners> => {
      const call = createSharedCall(request, endpoints.agents)
      const readUpTo = (staleUpTo: number) =>
        readPages({ ...call, reuse: { arrivedWithin: Number.POSITIVE_INFINITY, staleUpTo } }, read)
      // Of a large cluster, the pages that another replica has read outlive their lifetime.
      const stored = await readUpTo(Number.POSITIVE_INFINITY)
      const limit = maxAge(stored.fetchTime)
      // Pages that were just fetched are within the limit, so no page is fetched twice.
      return stored.age <= limit ? stored : readUpTo(limit)
    },
    /** Returns the current owners of these agents, without those that do not exist. Throws 931. */
    find: async (ids: readonly string[], request: EdgeRequest): Promise<AgentOwnerMap> => {
      const call = createCall(request, endpoints.agents)
      if (ids.length <= MAX_IDS_BY_NAME) return readByIds(call, read, ids)
      const { owners } = await readPages(call, read)
      // Pages shift when an agent is removed between two calls, so an agent may be on none of them.
      const missing = ids.filter((id) => !owners.has(id))
      for (const [id, owner] of await readByIds(call, read, missing)) owners.set(id, owner)
      return owners
    },
    /** Returns the current owners of the members of a group, or the response in which the master refuses. Throws 931. */
    findMembers: async (group: string, request: EdgeRequest) => {
      const call = { ...createCall(request, endpoints.members), params: { group_id: group } }
      const first = await send({ ...call, query: { select: FIELDS, limit: `${MAX_LIMIT}` } }, read)
      if (parseEnvelope(first).error !== 0) return { errorResponse: first }
      return { owners: (await readPages(call, read, first)).owners }
    },
  }
}

/**
 * Creates a call of the edge itself on behalf of a request, with the priority of that request. With credentials passed
 * through there are no credentials but those of the caller.
 */
function createCall(request: EdgeRequest, endpoint: ReadEndpoint): EdgeRead {
  const { name, credentials } = request.caller
  const { requestId, client, priority, trace } = request
  const caller: Caller = { name, permissions: ['*:*'], ...(credentials && { credentials }) }
  return {
    kind: 'read',
    endpoint,
    params: {},
    query: {},
    extent: 'whole',
    caller,
    priority,
    waitForComplete: false,
    returnMinimal: false,
    reuse: 'noCache',
    effort: 'bounded',
    copies: 'unknown',
    late: undefined,
    deadline: Number.POSITIVE_INFINITY,
    cost: NO_COST,
    requestId,
    client,
    ...(trace && { trace }),
  }
}

/**
 * A call whose result serves all requests: it continues when the client that caused it leaves, and does not queue behind
 * other calls of that caller.
 */
function createSharedCall(request: EdgeRequest, endpoint: ReadEndpoint): EdgeRead {
  const { caller, ...rest } = createCall(request, endpoint)
  const name = caller.credentials === undefined ? 'manager-edge' : caller.name
  return { ...rest, caller: { ...caller, name }, priority: 'interactive', client: createNoClient() }
}

async function readByIds(call: EdgeRead, read: Handler<EdgeRead>, ids: readonly string[]): Promise<AgentOwnerMap> {
  const owners = new Map<string, AgentOwner>()
  for (let at = 0; at < ids.length; at += MAX_IDS_PER_CALL) {
    const q = ids.slice(at, at + MAX_IDS_PER_CALL).map((id) => `id=${id}`)
    const query = { q: q.join(','), select: FIELDS, limit: `${MAX_LIMIT}` }
    for (const [id, owner] of ownersIn(dataOf(await send({ ...call, query }, read)))) owners.set(id, owner)
  }
  return owners
}

async function readPages(call: EdgeRead, read: Handler<EdgeRead>, first?: EdgeResponse): Promise<AllOwners> {
  const owners = new Map<string, AgentOwner>()
  let [age, fetchTime] = [0, 0]
  let total = 1
  for (let page = 0; page * MAX_LIMIT < total && page < MAX_PAGES; page += 1) {
    const query = { select: FIELDS, limit: `${MAX_LIMIT}`, offset: `${page * MAX_LIMIT}` }
    const response = page === 0 && first !== undefined ? first : await send({ ...call, query }, read)
    // Cached pages come without a turn of the event loop between them.
    if (response.kind === 'envelope') {
      await waitForJsonTurn(response.body.length)
      const cached = cachedOf(response)
      age = Math.max(age, cached?.age ?? 0)
      fetchTime += cached?.response.fetchTime ?? 0
    }
    const data = dataOf(response)
    total = Number(ownField(data, 'totalItems'))
    for (const [id, owner] of ownersIn(data)) owners.set(id, owner)
  }
  return { owners, age, fetchTime }
}

/** Throws 931 for all failures of the master, except wrong credentials (901) and rate limits (903) of the caller. */
async function send(call: EdgeRead, read: Handler<EdgeRead>): Promise<EdgeResponse> {
  try {
    return await read(call)
  } catch (error) {
    throwIfAbandoned(error, call.client)
    if (!(error instanceof EdgeError) || isErrorOfCaller(error)) throw error
    throw createOwnerUnknownError(error.message, error)
  }
}

function dataOf(response: EdgeResponse): unknown {
  const { error, message, data } = parseEnvelope(response)
  if (error === 0) return data
  const why = `the master responds with ${error}: ${message ?? ''}`
  throw isNotReadyError(error) ? new MasterNotReadyError(why, response) : createOwnerUnknownError(why)
}

function ownersIn(data: unknown): readonly (readonly [string, AgentOwner])[] {
  const items = ownField(data, 'items')
  if (!Array.isArray(items)) throw createOwnerUnknownError('the response of the master has no list of agents')
  return items.flatMap((row) => {
    const id = ownText(row, 'id')
    return id === undefined ? [] : [[id.padStart(3, '0'), ownerIn(row)] as const]
  })
}

function ownerIn(row: unknown): AgentOwner {
  // Newer releases write the state with an underscore.
  if (/^never[ _]connected$/i.test(ownText(row, 'status') ?? '')) return { kind: 'neverConnected' }
  const node = nodeOfAgent(row)
  return node === undefined ? { kind: 'unknown' } : { kind: 'node', node }
}
