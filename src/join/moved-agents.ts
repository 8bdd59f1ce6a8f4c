/**
 * Detects rows of agents that report to another node (distribution mode `edge`). The agent may have moved a moment ago.
 * Or an address leads to the wrong node: its rows would appear twice, and the rows of the right node would be missing
 * without an error.
 */
import { EdgeError } from '../core/errors.ts'
import type { EdgeRequest } from '../core/request.ts'
import type { AgentOwners } from './agent-owners.ts'
import { isOwner, type OwnedAgent } from './agents-by-node.ts'
import type { PageRows } from './bytes/envelope-rows.ts'
import { iterateRows, UnreadableRowsError } from './bytes/rows.ts'
import type { NodeRows } from './node-pages.ts'
import { createPartError, type PartError, toPartError } from './node-part.ts'
import { type AgentOwnerMap, MANAGER_AGENT_ID } from './owner-lookup.ts'

/** `error`: all rows are of other nodes, or the owners cannot be verified. */
export type PageOwners =
  | {
      /** Agents on the page that report to another node now, with that node. */
      readonly departed: readonly OwnedAgent[]
      /** All agents on the page. */
      readonly ids: readonly string[]
      /** Agents on the page that have moved to this node since the table was read. */
      readonly arrivedIds: readonly string[]
      readonly error?: never
    }
  | { readonly departed?: never; readonly error: PartError }

/** What one node contributes to a joined read. */
export interface NodeContent {
  readonly rows: readonly NodeRows[]
  /** The agents on its page, if the page is used. */
  readonly ids?: readonly string[]
  readonly arrivedIds?: readonly string[]
  readonly departed?: readonly OwnedAgent[]
}

export type ContentByNode = ReadonlyMap<string, NodeContent>

/** Nodes write rows without spaces, and each row with its `agent_id`. */
const AGENT_ID_MEMBER = Buffer.from('"agent_id":"')
const QUOTE = 0x22
const MAX_IDS_IN_MESSAGE = 10

/** Compares the agents on a page of a node with the owner table, and verifies differences with the master. */
export async function checkPageOwners(
  page: PageRows,
  node: string,
  {
    table,
    owners,
    request,
  }: { table: AgentOwnerMap; owners: Pick<AgentOwners, 'verifiedOwners'>; request: EdgeRequest },
): Promise<PageOwners> {
  const ids = agentIdsOn(page)
  const ofOthers = ids.filter((id) => table.get(id)?.kind === 'node' && !isOwner(node, id, table))
  if (ofOthers.length === 0) return { departed: [], ids, arrivedIds: [] }
  try {
    // The table may be older than a move of the agent to this node.
    const verified = await owners.verifiedOwners(ofOthers, request)
    const departed = ofOthers.flatMap((id) => {
      const owner = verified.get(id)
      return typeof owner === 'string' && owner !== node ? [{ id, node: owner }] : []
    })
    const hasOwnRows = departed.length < ofOthers.length || ids.some((id) => isOwner(node, id, table))
    if (hasOwnRows || departed.length === 0) {
      return { departed, ids, arrivedIds: ofOthers.filter((id) => verified.get(id) === node) }
    }
    const names = departed.slice(0, MAX_IDS_IN_MESSAGE).map(({ id }) => id)
    return { error: createPartError(925, ` (rows of agents of another node: ${names.join(', ')})`) }
  } catch (error) {
    if (error instanceof EdgeError) return { error: toPartError(error) }
    throw error
  }
}

/** A cached part is the same buffer for each request, so it is searched once. */
const idsByBody = new WeakMap<Buffer, readonly string[]>()

function agentIdsOn(page: PageRows): readonly string[] {
  const ids = idsByBody.get(page.bytes) ?? findAgentIds(page)
  idsByBody.set(page.bytes, ids)
  return ids
}

function findAgentIds(page: PageRows): readonly string[] {
  const ids = new Set<string>()
  let ending: Buffer | undefined
  try {
    for (const row of iterateRows(page)) {
      // Rows of one agent follow each other and end with its id, so most of them need no search.
      if (ending !== undefined && endsWith(row, ending)) continue
      const at = row.lastIndexOf(AGENT_ID_MEMBER)
      if (at < 0) continue
      const from = at + AGENT_ID_MEMBER.length
      ids.add(row.toString('latin1', from, row.indexOf(QUOTE, from)))
      ending = row.subarray(at)
    }
  } catch (error) {
    // The merge reports unreadable rows.
    if (!(error instanceof UnreadableRowsError)) throw error
  }
  ids.delete(MANAGER_AGENT_ID)
  return [...ids]
}

/** Compares in JavaScript: for so few bytes a native call would cost more. */
function endsWith(row: Buffer, ending: Buffer): boolean {
  const start = row.length - ending.length
  let at = ending.length - 1
  while (at >= 0 && row[start + at] === ending[at]) at--
  return at < 0
}

/**
 * Returns the agents on the page of a node that other nodes have too, and that report to one of these: the page is older
 * than their move. Pages are compared with the table one after the other, and a lookup may change it in between.
 */
export function movedAwayFrom(node: string, contents: ContentByNode, table: AgentOwnerMap): readonly string[] {
  const arrived = [...contents].flatMap(([name, { arrivedIds }]) => (name === node ? [] : (arrivedIds ?? [])))
  const ids = contents.get(node)?.ids
  if (ids === undefined) return arrived.filter((id) => isOwner(node, id, table))
  const isAtOwner = (id: string) => {
    const owner = table.get(id)
    return owner?.kind === 'node' && owner.node !== node && contents.get(owner.node)?.ids?.includes(id) === true
  }
  return ids.filter((id) => arrived.includes(id) || isAtOwner(id))
}

/** Returns agents that have departed and are missing at their new node: its page may be older than their move. */
export function missingAtNewOwner(contents: ContentByNode, table: AgentOwnerMap): readonly OwnedAgent[] {
  const departed = [...contents.values()].flatMap((content) => content.departed ?? [])
  const byId = new Map(departed.map((agent) => [agent.id, agent]))
  return [...byId.values()].filter(({ id, node }) => {
    const ids = contents.get(node)?.ids
    return ids === undefined ? !isOwner(node, id, table) : !ids.includes(id)
  })
}
