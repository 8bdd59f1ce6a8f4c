import { parseEnvelope } from '../core/envelope.ts'
import { EdgeError } from '../core/errors.ts'
import type { ClusterView } from '../core/node-call.ts'
import type { EdgeRequest, Handler } from '../core/request.ts'
import type { EdgeResponse } from '../core/response.ts'
import { createInquiries, type Home, type Homes, type InquiryPorts, MANAGER, notKnown } from './owner-lookup.ts'
import { createTable } from './owner-table.ts'

/**
 * Which node an agent reports to. In mode `edge` only that node answers for it: any other is silently empty or claims
 * a success (contract/wire.md, last table), so what is not known is an error and never a guess.
 *
 * Reads go by a table that is followed in the background; what must be sure is asked of the master anew (`verified`).
 */

export interface Owners {
  /** The node of an agent, out of the table. An id that nobody knows is the master's. Throws 931. */
  ownerOf(id: string, ask: EdgeRequest): Promise<string>
  /** The same, asked of the master now. Throws 931. */
  verifiedOwner(id: string, ask: EdgeRequest): Promise<string>
  /** Asked of the master now, for each id: its node, or why none may be asked. Throws 931 when the master cannot say. */
  verifiedOwners(ids: readonly string[], ask: EdgeRequest): Promise<ReadonlyMap<string, string | EdgeError>>
  /** Where each agent reports to, by id, `000` included; out of the table. Throws 931. */
  homes(ask: EdgeRequest): Promise<Homes>
  /** The members of a group as they are now, each with its node or why none may be asked. Throws 931. */
  membersOf(group: string, ask: EdgeRequest): Promise<Members>
}

export type Members =
  | { readonly places: ReadonlyMap<string, string | EdgeError> }
  /** The answer in which the master refuses. */
  | { readonly refusal: EdgeResponse }

export interface OwnersPorts extends InquiryPorts {
  readonly view: ClusterView
  /** Milliseconds that an answer about agents is fresh. */
  readonly fresh: number
  /** Milliseconds that the table may be older than that while the master cannot be asked. */
  readonly staleIfError: number
  /** Monotonic milliseconds. */
  readonly clock?: () => number
}

export function createOwners(ports: OwnersPorts): Owners {
  const { view, fresh, staleIfError, clock = () => performance.now() } = ports
  const inquiries = createInquiries(ports)
  const table = createTable({ everyone: inquiries.everyone, fresh, staleIfError, clock })
  const verifiedOwners: Owners['verifiedOwners'] = async (ids, ask) => {
    const found = await inquiries.these(ids, ask)
    for (const id of ids) table.correct(id, found.get(id))
    return new Map(ids.map((id) => [id, placeOf(id, found.get(id), view)]))
  }
  return {
    verifiedOwners,
    homes: (ask) => table.current(ask),
    ownerOf: async (id, ask) => {
      if (id === MANAGER) return view.master().name
      return sure(placeOf(id, (await table.current(ask)).get(id), view))
    },
    verifiedOwner: async (id, ask) => {
      if (id === MANAGER) return view.master().name
      return sure((await verifiedOwners([id], ask)).get(id) ?? view.master().name)
    },
    membersOf: async (group, ask) => {
      const found = await inquiries.membersOf(group, ask)
      if ('refusal' in found) return found
      return { places: new Map([...found.homes].map(([id, home]) => [id, placeOf(id, home, view)])) }
    },
  }
}

/** An id that is not in the list, or has never connected: all there is to say about it, the master says. */
function placeOf(id: string, home: Home | undefined, view: ClusterView): string | EdgeError {
  if (id === MANAGER || home === undefined || home.kind === 'never') return view.master().name
  if (home.kind !== 'node') return notKnown(`${id}: the master does not say where it reports to`)
  const node = view.find(home.node)
  if (node?.addressed) return node.name
  return notKnown(`${id}: ${home.node} has no address in cluster.nodes`)
}

function sure(node: string | EdgeError): string {
  if (node instanceof EdgeError) throw node
  return node
}

/** Per-agent calls in mode `edge`: the node that the agent reports to, and nobody else. */

export interface OfOwnerPorts {
  readonly owners: Pick<Owners, 'ownerOf' | 'verifiedOwner'>
  readonly forward: Handler
}

/** Throws 931 where the owner is not known, else as `forward` does. */
export function ofOwner({ owners, forward }: OfOwnerPorts): Handler {
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
