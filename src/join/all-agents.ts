import type { Endpoint } from '../catalogue/endpoint.ts'
import type { EdgeResponse } from '../core/response.ts'
import { traceAsync } from '../core/trace.ts'
import { type DatabaseSource, sources } from '../query/sources.ts'
import { compareText } from '../query/value.ts'
import { type AgentOf, agentPieces, type Rows } from './agent-rows.ts'
import {
  agentsOf,
  byNumber,
  type FromNode,
  type Given,
  goneFrom,
  isWanted,
  type Learnt,
  lateMoves,
  learnOwners,
  nameLost,
  shortWalks,
  soon,
  WALKED,
  type WalksShort,
  whoseRows,
} from './agents-by-node.ts'
import { type Reading, windowOf, withOrderFields } from './fan-out.ts'
import { type FirstPage, firstPage, type Piece, pieceOf } from './node-pages.ts'
import { edgeFault, type Fault } from './node-part.ts'
import { type Home, type Homes, MANAGER } from './owner-lookup.ts'
import { compose } from './rules/collection.ts'

/**
 * Rows of all agents (`/experimental/…`). A node walks its first 500 agents, stops at the limit and sorts afterwards, so
 * what it gives is right only where it is all that it has (contract, semantics.md section 6). So nodes are asked for
 * 1,000 rows without a sort, whatever the client's page is, and where that is not all, agent by agent.
 */

export async function allAgents(reading: Reading, ofAgent: Endpoint): Promise<EdgeResponse> {
  const { ask, ports, ledger } = reading
  const rows = rowsOf(ask.endpoint, ofAgent)
  const owners = learnOwners(reading)
  // Once the client has left nobody may wait for it any more, and that it fails then must not end the process.
  owners.catch(() => undefined)
  const pieces =
    ports.distribution === 'edge' ? await fromNodes(reading, rows, owners) : await throughMaster(reading, rows, owners)
  const { fault } = await owners
  const master = ports.view.master().name
  // Nobody knows then what may be missing, and that is said.
  if (fault !== undefined && ledger.faultsOf(master).length === 0) ledger.failed(master, fault)
  const { drop } = withOrderFields(ask.query, rows.source)
  const { target } = ask.endpoint
  const how = { sort: ask.query.sort, source: rows.source, ...windowOf(ask), ...(drop && { drop }) }
  const whenPartial = target.kind === 'everyNode' ? target.whenPartial : 'label'
  return traceAsync(ask.trace, 'merge', () => compose(pieces, { ...how, whenPartial }, ledger))
}

function rowsOf({ response: { rows } }: Endpoint, ofAgent: Endpoint): Rows {
  const source = rows === undefined || rows === 'nodeAnswers' ? undefined : sources[rows]
  if (source?.engine !== 'database') throw new Error(`rows of ${ofAgent.path} are in no table`)
  return { source: source satisfies DatabaseSource, ofAgent, single: ofAgent.response.data === 'object' }
}

/** Mode `edge`: each node says what it holds. */
async function fromNodes(reading: Reading, rows: Rows, owners: Promise<Learnt>): Promise<readonly Piece[]> {
  const nodes = reading.ports.view.nodes().map(({ name }) => name)
  const known: Known = { owners, walksShort: shortWalks() }
  const given: Given = new Map(
    await Promise.all(nodes.map(async (node) => [node, await fromNode(reading, rows, node, known)] as const)),
  )
  const { homes } = await owners
  if (homes === undefined) return [...given.values()].flatMap((each) => each.pieces)
  nameLost(reading, homes, (node) => nodes.includes(node))
  const pieces = await Promise.all(nodes.map((node) => withoutGone(reading, rows, node, { given, homes })))
  const late = await agentPieces(reading, rows, lateMoves(given, homes))
  return [...pieces.flat(), ...late]
}

async function withoutGone(
  reading: Reading,
  rows: Rows,
  node: string,
  { given, homes }: { readonly given: Given; readonly homes: Homes },
): Promise<readonly Piece[]> {
  const gone = goneFrom(node, given, homes)
  if (gone.length === 0) return given.get(node)?.pieces ?? []
  const left = agentsOf(node, homes).filter(({ id }) => isWanted(reading.ask)(id) && !gone.includes(id))
  return agentPieces(reading, rows, left)
}

interface Known {
  readonly owners: Promise<Learnt>
  readonly walksShort: WalksShort
}

async function fromNode(reading: Reading, rows: Rows, node: string, known: Known): Promise<FromNode> {
  const { ask } = reading
  const { owners, walksShort } = known
  const named = ask.query.agent_id !== undefined
  const early = named ? await owners : await soon(owners)
  let moved: readonly AgentOf[] = []
  if (!named && !walksShort(node, early?.homes)) {
    const page = await firstPage(reading, rows, node)
    if ('fault' in page) return failed(reading, node, page.fault)
    const { homes } = await owners
    const whose = homes && (await whoseRows(page.part, node, { homes, owners: reading.ports.owners, ask }))
    if (whose?.fault) return failed(reading, node, whose.fault)
    moved = whose?.foreign ?? []
    if (page.whole && !walksShort(node, homes) && moved.length === 0) {
      return { pieces: [pieceOf(node, page.part)], ...(whose && { ids: whose.given, came: whose.came }) }
    }
  }
  const { homes, fault } = await owners
  if (homes === undefined) return failed(reading, node, fault)
  const wanted = isWanted(ask)
  const agents = agentsOf(node, homes).filter(({ id }) => wanted(id) && !moved.some((agent) => agent.id === id))
  return { pieces: await agentPieces(reading, rows, agents), moved }
}

function failed({ ledger }: Reading, node: string, fault: Fault): FromNode {
  ledger.failed(node, fault)
  return { pieces: [] }
}

/**
 * Mode `manager`: the cluster joins by itself, and wrongly beyond its first page (contract, semantics.md section 3). The
 * master's page is taken where it is all there is; else agents are asked for one by one, as they are where the cluster
 * fails whole since one of its nodes does.
 */

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
    return rank(a.node) - rank(b.node) || compareText(a.node, b.node) || byNumber(a.id, b.id)
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
