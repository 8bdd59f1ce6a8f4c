import { EdgeError } from '../core/errors.ts'
import type { EdgeRequest } from '../core/request.ts'
import type { Owners } from './agent-owners.ts'
import type { AgentOf } from './agent-rows.ts'
import type { RowsPart } from './bytes/envelope-rows.ts'
import { rowsOf, UnreadableRows } from './bytes/rows.ts'
import type { Reading } from './fan-out.ts'
import type { Piece } from './node-pages.ts'
import { edgeFault, type Fault, faultOf } from './node-part.ts'
import { type Homes, MANAGER, notKnown } from './owner-lookup.ts'

/** Where agents report to, as far as joined reads must know: who is asked for whom, and who is lost. */

/** A node looks no further than that many agents of the whole cluster. */
export const WALKED = 500

export type Learnt =
  | { readonly homes: Homes; readonly fault?: never }
  | { readonly homes?: never; readonly fault: Fault }

/** Asked while nodes are asked for their pages, which most often do without. */
export async function learnOwners({ ask, ports, fanOut }: Reading): Promise<Learnt> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    const left = fanOut.until - performance.now()
    if (Number.isFinite(left)) timer = setTimeout(reject, left, notKnown('the master did not say in time'))
  })
  try {
    const homes = await Promise.race([ports.owners.homes(ask), late])
    const unheard = [...(namedIn(ask) ?? [])].filter((id) => !homes.has(id))
    if (unheard.length === 0) return { homes }
    // An agent that is named may be younger than the table.
    await Promise.race([ports.owners.verifiedOwners(unheard, ask), late])
    return { homes: await Promise.race([ports.owners.homes(ask), late]) }
  } catch (fault) {
    ask.signal.throwIfAborted()
    return { fault: faultOf(fault) }
  } finally {
    clearTimeout(timer)
  }
}

/** What is known already, which most often it is. */
export function soon(owners: Promise<Learnt>): Promise<Learnt | undefined> {
  const later = new Promise<undefined>((resolve) => {
    setImmediate(resolve, undefined)
  })
  return Promise.race([owners, later])
}

function namedIn({ query }: EdgeRequest): ReadonlySet<string> | undefined {
  return query.agent_id === undefined ? undefined : new Set(query.agent_id.split(','))
}

/** The ids that the client names, or all. */
export function isWanted(ask: EdgeRequest): (id: string) => boolean {
  const named = namedIn(ask)
  return (id) => named?.has(id) ?? true
}

/** The agents of a node in the order of their ids; `000` is each node itself. */
export function agentsOf(node: string, homes: Homes): readonly AgentOf[] {
  const own = [...homes].filter(([id, home]) => id !== MANAGER && home.kind === 'node' && home.node === node)
  return [MANAGER, ...own.map(([id]) => id).sort(byNumber)].map((id) => ({ id, node }))
}

export function byNumber(a: string, b: string): number {
  return Number(a) - Number(b)
}

const lastWalked = new WeakMap<Homes, number>()

/** The last id that every node walks to: worked out once for each table of agents. */
function lastOf(homes: Homes): number {
  const known = lastWalked.get(homes)
  if (known !== undefined) return known
  const last = [...homes.keys()].map(Number).sort((a, b) => a - b)[WALKED - 1] ?? 0
  lastWalked.set(homes, last)
  return last
}

/** Does a node have agents that it does not walk to? */
export type WalksShort = (node: string, homes: Homes | undefined) => boolean

/** Looks over the agents once for all nodes of a request. */
export function shortWalks(): WalksShort {
  let nodes: Set<string> | undefined
  return (node, homes) => {
    if (homes === undefined || homes.size <= WALKED) return false
    if (nodes === undefined) {
      nodes = new Set()
      const last = lastOf(homes)
      for (const [id, home] of homes) if (home.kind === 'node' && Number(id) > last) nodes.add(home.node)
    }
    return nodes.has(node)
  }
}

/** Agents that connected and are nowhere, or on a node that nobody knows: their rows are in no node's answer. */
export function nameLost({ ask, ledger }: Reading, homes: Homes, isKnown: (node: string) => boolean): void {
  const wanted = isWanted(ask)
  const lost = new Map<string, string[]>()
  for (const [id, home] of homes) {
    if (id === MANAGER || home.kind === 'never' || (home.kind === 'node' && isKnown(home.node)) || !wanted(id)) continue
    const node = home.kind === 'node' ? home.node : 'unknown'
    const ids = lost.get(node)
    if (ids === undefined) lost.set(node, [id])
    else ids.push(id)
  }
  for (const [node, ids] of lost) ledger.failed(node, faultOf(notKnown(some(ids))))
}

function some(ids: readonly string[]): string {
  return ids.slice(0, 10).join(', ') + (ids.length > 10 ? ' …' : '')
}

/**
 * Does a node give rows of agents that report to another one (mode `edge`)? That is an agent which has just moved, or a
 * node that is not who it is taken for: an address that leads to another node would give that one's rows twice, and
 * nobody would miss its own.
 */

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
