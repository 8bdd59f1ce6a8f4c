/**
 * Does a node give rows of agents that report to another one (mode `edge`)? That is an agent which has just moved, or a
 * node that is not who it is taken for: an address that leads to another node would give that one's rows twice, and
 * nobody would miss its own.
 */
import type { RowsPart } from '../../collection/join/part.ts'
import { rowsOf, UnreadableRows } from '../../collection/join/rows.ts'
import { EdgeError } from '../../errors.ts'
import type { Home } from '../owners-inquiries.ts'
import type { Ask } from '../ports.ts'
import { MANAGER } from './agents.ts'
import { edgeFault, type Fault, faultOf } from './part.ts'

export interface OwnersNow {
  verifiedOwners(ids: readonly string[], ask: Ask): Promise<ReadonlyMap<string, unknown>>
}

/** `fault`: what the node gives is not its own, or nobody can say whose it is. */
export type Whose =
  | { readonly foreign: readonly string[]; readonly fault?: never }
  | { readonly foreign?: never; readonly fault: Fault }

/** Nodes write rows without spaces, and `agent_id` into each. */
const ID = Buffer.from('"agent_id":"')
const QUOTE = 0x22

export async function whoseRows(
  part: RowsPart,
  node: string,
  { homes, owners, ask }: { homes: ReadonlyMap<string, Home>; owners: OwnersNow; ask: Ask },
): Promise<Whose> {
  const ids = agentsIn(part)
  const homeOf = (id: string) => {
    const home = homes.get(id)
    return home?.kind === 'node' ? home.node : undefined
  }
  const elsewhere = ids.filter((id) => (homeOf(id) ?? node) !== node)
  if (elsewhere.length === 0) return { foreign: [] }
  try {
    // The table may be old: the agent may have come to this node since.
    const now = await owners.verifiedOwners(elsewhere, ask)
    const foreign = elsewhere.filter((id) => typeof now.get(id) === 'string' && now.get(id) !== node)
    const own = foreign.length < elsewhere.length || ids.some((id) => homeOf(id) === node)
    if (own || foreign.length === 0) return { foreign }
    return { fault: edgeFault(925, ` (rows of agents of another node: ${foreign.slice(0, 10).join(', ')})`) }
  } catch (fault) {
    if (fault instanceof EdgeError) return { fault: faultOf(fault) }
    throw fault
  }
}

function agentsIn(part: RowsPart): readonly string[] {
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
