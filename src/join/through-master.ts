/**
 * Mode `manager`: the cluster joins by itself, and wrongly beyond its first page (contract, semantics.md section 3). The
 * master's page is taken where it is all there is; else agents are asked for one by one, as they are where the cluster
 * fails whole since one of its nodes does.
 */

import { type AgentOf, agentPieces, type Rows } from './agents.ts'
import { type FirstPage, firstPage } from './first-page.ts'
import { type Home, type Homes, MANAGER } from './home.ts'
import { byNumber, isWanted, type Learnt, nameLost, WALKED } from './homes.ts'
import type { Piece } from './pages.ts'
import { edgeFault } from './part.ts'
import type { Reading } from './reading.ts'

/** One node among them made all of them fail, or the joining itself did; the others may answer for their agents. */
const WHOLE: ReadonlySet<number> = new Set([922, 1000, 1017, 3000, 3009, 3016, 3018, 3020, 3021, 3022, 3023])
/** Some node hangs: what waits beside a call for it would have its time taken. */
const HUNG = 922
/** The master's own page may take so much of the time: the rest is for agents one by one. */
const SHARE = 0.5

export async function throughMaster(reading: Reading, rows: Rows, owners: Promise<Learnt>): Promise<readonly Piece[]> {
  const { ask, ledger, ports, fanOut } = reading
  const master = ports.view.master().name
  const named = ask.query.agent_id !== undefined
  const page = named ? undefined : await firstPage(reading, rows, master, fanOut.moment(SHARE))
  const fault = page && 'fault' in page ? page.fault : undefined
  if (fault && !WHOLE.has(fault.code)) {
    ledger.failed(master, fault)
    return []
  }
  const { homes, fault: unknown } = await owners
  const walked = (homes?.size ?? 0) <= WALKED
  if (walked && page && 'part' in page && page.whole) return [asItIs(master, page)]
  if (homes === undefined) {
    ledger.failed(master, fault ?? unknown)
    return []
  }
  nameLost(reading, homes, () => true)
  const agents = agentsInOrder(reading, homes)
  const pieces = await agentPieces(reading, rows, agents, fault?.code === HUNG ? 1 : undefined)
  if (isWanted(ask)(MANAGER)) nameWorkers(reading, homes, pieces, page)
  return pieces
}

/** Which rows of `000` are of which node, only the manager knows. */
function asItIs(node: string, { part }: Extract<FirstPage, { part: unknown }>): Piece {
  return { node, total: part.total, join: () => ({ rows: part, trusted: false }) }
}

/** By node, the master first, then by name; then by id. */
function agentsInOrder({ ask, ports }: Reading, homes: Homes): readonly AgentOf[] {
  const master = ports.view.master().name
  const wanted = isWanted(ask)
  const nodeOf = (id: string, home: Home) => (id === MANAGER ? master : home.kind === 'node' ? home.node : undefined)
  const agents = [...homes].flatMap(([id, home]) => {
    const node = nodeOf(id, home)
    return node === undefined || !wanted(id) ? [] : [{ id, node }]
  })
  const rank = (node: string) => (node === master ? 0 : 1)
  return agents.sort((a, b) => {
    return rank(a.node) - rank(b.node) || (a.node < b.node ? -1 : a.node > b.node ? 1 : byNumber(a.id, b.id))
  })
}

/**
 * `000` of a worker is the worker itself, and under that id the cluster gives the master's rows alone. Only the total of
 * the master's page can show that there are no others.
 */
function nameWorkers({ ports, ledger }: Reading, homes: Homes, pieces: readonly Piece[], page?: FirstPage): void {
  const sum = pieces.reduce((total, piece) => total + piece.total, 0)
  if (page && 'part' in page && page.part.total === sum) return
  const master = ports.view.master().name
  const known = ports.view.nodes().map(({ name }) => name)
  const owners = [...homes.values()].flatMap((home) => (home.kind === 'node' ? [home.node] : []))
  for (const node of new Set([...known, ...owners])) {
    if (node !== master && ledger.faultsOf(node).length === 0) ledger.failed(node, edgeFault(935, ''))
  }
}
