/**
 * Rows of all agents (`/experimental/…`). A node walks its first 500 agents, stops at the limit and sorts afterwards, so
 * what it gives is right only where it is all that it has (contract, semantics.md section 6). So nodes are asked for
 * 1,000 rows without a sort, whatever the client's page is, and where that is not all, agent by agent.
 */
import type { Endpoint } from '../catalogue/endpoint.ts'
import type { EdgeResponse } from '../core/response.ts'
import { traceAsync } from '../core/trace.ts'
import type { DatabaseSource } from '../query/source.ts'
import { sources } from '../query/sources.ts'
import { type AgentOf, agentPieces, type Rows } from './agents.ts'
import { compose } from './compose.ts'
import { firstPage, pieceOf } from './first-page.ts'
import { type FromNode, type Given, goneFrom, lateMoves, whoseRows } from './foreign-rows.ts'
import type { Homes } from './home.ts'
import { agentsOf, isWanted, type Learnt, learnOwners, nameLost, shortWalks, soon, type WalksShort } from './homes.ts'
import type { Piece } from './pages.ts'
import type { Fault } from './part.ts'
import { type Reading, windowOf, withOrderFields } from './reading.ts'
import { throughMaster } from './through-master.ts'

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
