/**
 * Does a node give rows of agents that report to another one (mode `edge`)? That is an agent which has just moved, or a
 * node that is not who it is taken for: an address that leads to another node would give that one's rows twice, and
 * nobody would miss its own.
 */

import { EdgeError } from '../core/errors.ts'
import type { EdgeRequest } from '../core/request.ts'
import type { AgentOf } from './agents.ts'
import type { RowsPart } from './bytes/part.ts'
import { rowsOf, UnreadableRows } from './bytes/rows.ts'
import { type Homes, MANAGER } from './home.ts'
import type { Owners } from './owners.ts'
import type { Piece } from './pages.ts'
import { edgeFault, type Fault, faultOf } from './part.ts'

/** `fault`: what the node gives is not its own, or nobody can say whose it is. */
export type Whose =
  /** `foreign`: with the nodes that they report to now; `given`: all whose rows there are; `came`: that were elsewhere. */
  | {
      readonly foreign: readonly AgentOf[]
      readonly given: readonly string[]
      readonly came: readonly string[]
      readonly fault?: never
    }
  | { readonly foreign?: never; readonly fault: Fault }

/** What came of one node. */
export interface FromNode {
  readonly pieces: readonly Piece[]
  /** The agents in its page, if that was taken. */
  readonly ids?: readonly string[]
  /** Those among them that were another's a moment ago. */
  readonly came?: readonly string[]
  /** Agents in its page that report elsewhere now. */
  readonly moved?: readonly AgentOf[]
}

/** By node. */
export type Given = ReadonlyMap<string, FromNode>

/** Nodes write rows without spaces, and `agent_id` into each. */
const ID = Buffer.from('"agent_id":"')
const QUOTE = 0x22

export async function whoseRows(
  part: RowsPart,
  node: string,
  { homes, owners, ask }: { homes: Homes; owners: Pick<Owners, 'verifiedOwners'>; ask: EdgeRequest },
): Promise<Whose> {
  const ids = agentsIn(part)
  const homeOf = (id: string) => {
    const home = homes.get(id)
    return home?.kind === 'node' ? home.node : undefined
  }
  const elsewhere = ids.filter((id) => (homeOf(id) ?? node) !== node)
  if (elsewhere.length === 0) return { foreign: [], given: ids, came: [] }
  try {
    // The table may be old: the agent may have come to this node since.
    const now = await owners.verifiedOwners(elsewhere, ask)
    const foreign = elsewhere.flatMap((id) => {
      const owner = now.get(id)
      return typeof owner === 'string' && owner !== node ? [{ id, node: owner }] : []
    })
    const own = foreign.length < elsewhere.length || ids.some((id) => homeOf(id) === node)
    if (own || foreign.length === 0)
      return { foreign, given: ids, came: elsewhere.filter((id) => now.get(id) === node) }
    const names = foreign.slice(0, 10).map(({ id }) => id)
    return { fault: edgeFault(925, ` (rows of agents of another node: ${names.join(', ')})`) }
  } catch (fault) {
    if (fault instanceof EdgeError) return { fault: faultOf(fault) }
    throw fault
  }
}

/** What is kept near is the same bytes for each request: looked through once. */
const known = new WeakMap<Buffer, readonly string[]>()

function agentsIn(part: RowsPart): readonly string[] {
  const ids = known.get(part.bytes) ?? idsIn(part)
  known.set(part.bytes, ids)
  return ids
}

function idsIn(part: RowsPart): readonly string[] {
  const ids = new Set<string>()
  try {
    for (const row of rowsOf(part)) {
      const at = row.lastIndexOf(ID)
      const from = at + ID.length
      if (at >= 0) ids.add(row.toString('latin1', from, row.indexOf(QUOTE, from)))
    }
  } catch (garbled) {
    // Who reads the rows finds that out, too.
    if (!(garbled instanceof UnreadableRows)) throw garbled
  }
  ids.delete(MANAGER)
  return [...ids]
}

/** Agents in the page of a node that others have been found to have now: what is kept of it is older than the move. */
export function goneFrom(node: string, given: Given, homes: Homes): readonly string[] {
  const came = [...given].flatMap(([name, each]) => (name === node ? [] : (each.came ?? [])))
  const ids = given.get(node)?.ids
  return came.filter((id) => (ids === undefined ? isHome(homes, id, node) : ids.includes(id)))
}

function isHome(homes: Homes, id: string, node: string): boolean {
  const home = homes.get(id)
  return home?.kind === 'node' && home.node === node
}

/** Agents that have moved, and whose new node does not give their rows: what is kept of it may be older than the move. */
export function lateMoves(given: Given, homes: Homes): readonly AgentOf[] {
  const moved = new Map([...given.values()].flatMap((each) => each.moved ?? []).map((agent) => [agent.id, agent]))
  return [...moved.values()].filter(({ id, node }) => {
    const ids = given.get(node)?.ids
    return ids === undefined ? !isHome(homes, id, node) : !ids.includes(id)
  })
}
