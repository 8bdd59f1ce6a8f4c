/** Where agents report to, as far as joined reads must know: who is asked for whom, and who is lost. */

import type { EdgeRequest } from '../core/request.ts'
import type { AgentOf } from './agents.ts'
import { type Homes, MANAGER, notKnown } from './home.ts'
import { type Fault, faultOf } from './part.ts'
import type { Reading } from './reading.ts'

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
