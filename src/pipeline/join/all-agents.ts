/**
 * Rows of all agents (`/experimental/…`). A node walks its first 500 agents, stops at the limit and sorts afterwards, so
 * what it gives is right only where it is all that it has (contract, semantics.md section 6). So nodes are asked for
 * 1,000 rows without a sort, whatever the client's page is, and where that is not all, agent by agent.
 */
import type { Endpoint } from '../../catalogue/endpoint.ts'
import { type RowsPart, readPart } from '../../collection/join/part.ts'
import { countRows } from '../../collection/join/rows.ts'
import type { DatabaseSource } from '../../collection/source.ts'
import { sources } from '../../collection/sources.ts'
import { EdgeError } from '../../errors.ts'
import type { Home } from '../owners-inquiries.ts'
import type { Answer, Ask } from '../ports.ts'
import { type AgentOf, agentPieces, MANAGER, type Rows } from './agents.ts'
import { compose } from './compose.ts'
import { type FromNode, lateMoves, whoseRows } from './foreign-rows.ts'
import { MOST, type Piece } from './pages.ts'
import { edgeFault, type Fault, faultOf, unreadable } from './part.ts'
import { type Reading, windowOf, withOrderFields, without } from './reading.ts'
import { throughMaster } from './through-master.ts'

/** A node looks no further than that many agents of the whole cluster. */
export const WALKED = 500

export type Homes = ReadonlyMap<string, Home>

export async function allAgents(reading: Reading, ofAgent: Endpoint): Promise<Answer> {
  const { ask, ports, ledger } = reading
  const rows = rowsOf(ask.endpoint, ofAgent)
  const owners = learnOwners(reading)
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
  return compose(pieces, { ...how, whenPartial }, ledger)
}

function rowsOf({ answer: { rows } }: Endpoint, ofAgent: Endpoint): Rows {
  const source = rows === undefined || rows === 'nodeAnswers' ? undefined : sources[rows]
  if (source?.engine !== 'database') throw new Error(`rows of ${ofAgent.path} are in no table`)
  return { source: source satisfies DatabaseSource, ofAgent, single: ofAgent.answer.data === 'object' }
}

export type Learnt =
  | { readonly homes: Homes; readonly fault?: never }
  | { readonly homes?: never; readonly fault: Fault }

/** Asked while nodes are asked for their pages, which most often do without. */
async function learnOwners({ ask, ports, fanOut }: Reading): Promise<Learnt> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    const left = fanOut.until - performance.now()
    if (Number.isFinite(left)) timer = setTimeout(reject, left, new EdgeError(931, ' (the master did not say in time)'))
  })
  try {
    return { homes: await Promise.race([ports.owners.homes(ask), late]) }
  } catch (fault) {
    ask.signal.throwIfAborted()
    return { fault: faultOf(fault) }
  } finally {
    clearTimeout(timer)
  }
}

/** What is known already, which most often it is. */
function soon(owners: Promise<Learnt>): Promise<Learnt | undefined> {
  const later = new Promise<undefined>((resolve) => {
    setImmediate(resolve, undefined)
  })
  return Promise.race([owners, later])
}

/** The ids that the client names, or all. */
export function isWanted({ query }: Ask): (id: string) => boolean {
  const named = query.agent_id === undefined ? undefined : new Set(query.agent_id.split(','))
  return (id) => named?.has(id) ?? true
}

/** Mode `edge`: each node says what it holds. */
async function fromNodes(reading: Reading, rows: Rows, owners: Promise<Learnt>): Promise<readonly Piece[]> {
  const nodes = reading.ports.view.nodes().map(({ name }) => name)
  const given = await Promise.all(nodes.map((node) => fromNode(reading, rows, node, owners)))
  const { homes } = await owners
  const pieces = given.map((each) => each.pieces)
  if (homes !== undefined) {
    const late = lateMoves(new Map(nodes.map((node, at) => [node, given[at]])), homes)
    pieces.push(await agentPieces(reading, rows, late, 'owner'))
  }
  if (homes !== undefined) nameLost(reading, homes, (node) => nodes.includes(node))
  return pieces.flat()
}

async function fromNode(reading: Reading, rows: Rows, node: string, owners: Promise<Learnt>): Promise<FromNode> {
  const { ask } = reading
  const named = ask.query.agent_id !== undefined
  const known = named ? await owners : await soon(owners)
  let moved: readonly AgentOf[] = []
  if (!named && !walksShort(node, known?.homes)) {
    const page = await firstPage(reading, rows, node)
    if ('fault' in page) return failed(reading, node, page.fault)
    const { homes } = await owners
    const whose = homes && (await whoseRows(page.part, node, { homes, owners: reading.ports.owners, ask }))
    if (whose?.fault) return failed(reading, node, whose.fault)
    moved = whose?.foreign ?? []
    if (page.whole && !walksShort(node, homes) && moved.length === 0) {
      return { pieces: [pieceOf(node, page.part)], ...(whose && { ids: whose.given }) }
    }
  }
  const { homes, fault } = await owners
  if (homes === undefined) return failed(reading, node, fault)
  const wanted = isWanted(ask)
  const agents = agentsOf(node, homes).filter(({ id }) => wanted(id) && !moved.some((agent) => agent.id === id))
  return { pieces: await agentPieces(reading, rows, agents, 'owner'), moved }
}

function failed({ ledger }: Reading, node: string, fault: Fault): FromNode {
  ledger.failed(node, fault)
  return { pieces: [] }
}

/** Does the node have agents that it does not walk to? */
function walksShort(node: string, homes: Homes | undefined): boolean {
  return homes !== undefined && agentsOf(node, homes).some(({ id }) => isBeyondWalk(id, homes))
}

function agentsOf(node: string, homes: Homes): readonly AgentOf[] {
  const own = [...homes].filter(([id, home]) => id !== MANAGER && home.kind === 'node' && home.node === node)
  return [MANAGER, ...own.map(([id]) => id).sort(byNumber)].map((id) => ({ id, node }))
}

export function byNumber(a: string, b: string): number {
  return Number(a) - Number(b)
}

const ranks = new WeakMap<Homes, string>()

/** The last id that every node walks to. */
function isBeyondWalk(id: string, homes: Homes): boolean {
  if (homes.size <= WALKED) return false
  const last = ranks.get(homes) ?? [...homes.keys()].sort(byNumber)[WALKED - 1] ?? ''
  ranks.set(homes, last)
  return Number(id) > Number(last)
}

/** Agents that connected and are nowhere, or on a node that nobody knows: their rows are in no node's answer. */
export function nameLost({ ask, ledger }: Reading, homes: Homes, isKnown: (node: string) => boolean): void {
  const wanted = isWanted(ask)
  const lost = [...homes].filter(([id, home]) => {
    return wanted(id) && id !== MANAGER && (home.kind === 'nowhere' || (home.kind === 'node' && !isKnown(home.node)))
  })
  const nodes = new Set(lost.map(([, home]) => (home.kind === 'node' ? home.node : 'unknown')))
  for (const node of nodes) {
    const ids = lost.filter(([, home]) => (home.kind === 'node' ? home.node : 'unknown') === node).map(([id]) => id)
    ledger.failed(node, edgeFault(931, ` (${some(ids)})`))
  }
}

function some(ids: readonly string[]): string {
  return ids.slice(0, 10).join(', ') + (ids.length > 10 ? ' …' : '')
}

export type FirstPage = { readonly part: RowsPart; readonly whole: boolean } | { readonly fault: Fault }

/** All rows of a node without an order, if 1,000 are all; shared by all sorts and windows of the same rows. */
export async function firstPage(reading: Reading, { source }: Rows, node: string, until?: number): Promise<FirstPage> {
  const { ask, get } = reading
  const { select } = withOrderFields(ask.query, source)
  const query = {
    ...without(ask.query, 'offset', 'sort', 'select', 'agent_id'),
    limit: String(MOST),
    ...(select !== undefined && { select }),
  }
  const given = await get(node, { ...ask, node, query }, until)
  if (!given.ok) return { fault: given.fault }
  const read = readPart(given.bytes)
  if (!read.ok) return { fault: unreadable(read.reason) }
  const { part } = read
  try {
    return { part, whole: part.total <= MOST && countRows(part) === part.total }
  } catch (garbled) {
    return { fault: unreadable(garbled instanceof Error ? garbled.message : 'rows cannot be read') }
  }
}

/** `000` of each node is that node itself. */
export function pieceOf(node: string, part: RowsPart): Piece {
  const inject = { first: { node_name: node }, where: { field: 'agent_id', is: MANAGER } }
  return { node, total: part.total, join: () => ({ rows: part, trusted: false, inject }) }
}
