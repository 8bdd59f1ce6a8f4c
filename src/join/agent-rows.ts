import type { Endpoint } from '../catalogue/endpoint.ts'
import { parseEnvelope } from '../core/envelope.ts'
import type { EdgeRequest } from '../core/request.ts'
import { matching } from '../query/collect.ts'
import { readRequest } from '../query/request.ts'
import { flatten, readShape } from '../query/select.ts'
import type { DatabaseSource } from '../query/sources.ts'
import type { Row } from '../query/value.ts'
import { readPart } from './bytes/envelope-rows.ts'
import { inLanes, orderFields, type Reading, windowOf, withOrderFields, without } from './fan-out.ts'
import { type Piece, readPages, roundedLimit } from './node-pages.ts'
import { edgeFault, type Fault } from './node-part.ts'
import { MANAGER } from './owner-lookup.ts'

/** Rows of agents that are asked for one by one: where a node's own walk over its agents is not all of them. */

/** An agent, and the node under whose name it is told of. */
export interface AgentOf {
  readonly id: string
  readonly node: string
}

/** What is read of all agents, and how of one. */
export interface Rows {
  readonly source: DatabaseSource
  readonly ofAgent: Endpoint
  /** One object for each agent, which has neither pages nor filters. */
  readonly single: boolean
}

/** Calls on one node at once: it takes four by default, and half of them are for others than bulk. */
const AT_ONCE = 2
/** A node that failed so often is not asked for its other agents. */
const STRIKES = 3
/** Its turn did not come: nothing was sent, and nothing is known against the node of the agent. */
const NOT_ASKED = 921
/** A call that hangs takes the place of others for as long. */
const HUNG = 922
/** The agent has gone since the list was made. */
const NO_SUCH_AGENT = 1701

/** Mode `edge`: each is asked at its node; else all are asked of the master, which hands them on. */
export async function agentPieces(
  reading: Reading,
  rows: Rows,
  agents: readonly AgentOf[],
  atOnce = AT_ONCE,
): Promise<readonly Piece[]> {
  const { ledger, ports } = reading
  const strikes = new Map<string, number>()
  const strikesOf = (node: string) => strikes.get(node) ?? 0
  const ask = async (agent: AgentOf) => {
    const { node } = agent
    if (strikesOf(node) >= STRIKES) return undefined
    const given = lateFault(reading) ?? (await agentRows(reading, rows, agent))
    strikes.set(node, strikesOf(node) + strikesIn(given))
    return given
  }
  const came = await inTurns(agents, { distribution: ports.distribution, atOnce }, ask)
  for (const [{ node }, given] of came) if (isFault(given) && given.code !== NO_SUCH_AGENT) ledger.failed(node, given)
  const found = agents.map((agent) => came.get(agent)).filter((each) => each !== undefined)
  return rows.single ? singles(reading, rows, found.filter(isRow)) : found.filter(isPiece)
}

function strikesIn(given: Given): number {
  if (!isFault(given) || given.code === NO_SUCH_AGENT || given.code === NOT_ASKED) return 0
  return given.code === HUNG ? STRIKES : 1
}

/**
 * What came of each. Mode `edge`: each node has its own calls. Else the master hands calls on
 * to a node one after the other (semantics.md section 3), so that two for a node that hangs would wait in the place of
 * others. Whose turn did not come meanwhile is asked at the end.
 */
async function inTurns(
  agents: readonly AgentOf[],
  { distribution, atOnce }: { readonly distribution: Reading['ports']['distribution']; readonly atOnce: number },
  ask: (agent: AgentOf) => Promise<Given | undefined>,
): Promise<ReadonlyMap<AgentOf, Given | undefined>> {
  const came = new Map<AgentOf, Given | undefined>()
  const inOrder = (own: readonly AgentOf[], lanes: number) =>
    inLanes(own, lanes, async (agent) => came.set(agent, await ask(agent)))
  const nodes = [...new Set(agents.map(({ node }) => node))]
  const byNode = nodes.map((name) => agents.filter(({ node }) => node === name))
  if (distribution === 'edge') await Promise.all(byNode.map((own) => inOrder(own, atOnce)))
  else await inLanes(byNode, atOnce, (own) => inOrder(own, 1))
  const late = agents.filter((agent) => isFault(came.get(agent), NOT_ASKED))
  await inOrder(late, 1)
  return came
}

/** Time that is over is not asked for again and again. */
function lateFault({ fanOut }: Reading): Fault | undefined {
  if (performance.now() < fanOut.until) return undefined
  return edgeFault(922, ' (no time was left for all of its agents)')
}

interface OneRow extends AgentOf {
  readonly row: Row | undefined
}

type Given = Piece | OneRow | Fault

function isFault(given: Given | undefined, code?: number): given is Fault {
  return given !== undefined && 'code' in given && (code === undefined || given.code === code)
}

function isPiece(given: Given): given is Piece {
  return 'join' in given
}

function isRow(given: Given): given is OneRow {
  return 'row' in given
}

async function agentRows(reading: Reading, rows: Rows, { id, node }: AgentOf): Promise<Given> {
  const { ask, get, fanOut, ports } = reading
  const { node: _, ...shared } = ask
  const own = id === MANAGER && ports.distribution === 'edge' ? { node } : {}
  const part: EdgeRequest = { ...shared, ...own, endpoint: rows.ofAgent, params: { agent_id: id }, query: {} }
  // One that hangs is to leave time for the others behind it.
  const until = Math.min(fanOut.until, performance.now() + (fanOut.until - fanOut.began) / 4)
  if (rows.single) {
    const given = await get(node, part, until)
    return given.ok ? { id, node, row: rowOf(given.bytes) } : given.fault
  }
  const { offset, limit } = windowOf(ask)
  const fields = orderFields(ask.query.sort, rows.source)
  // Over several fields nodes sort in an order that is another at each call (semantics.md section 2).
  const trusted = fields.length < 2
  const { select } = withOrderFields(ask.query, rows.source)
  const query = without(ask.query, 'offset', 'limit', 'agent_id', 'select', ...(trusted ? [] : ['sort']))
  const paged = await readPages({
    node,
    ask: { ...part, query: { ...query, ...(select !== undefined && { select }) } },
    limit: roundedLimit(offset + limit),
    trusted,
    inject: { ...(id === MANAGER && { first: { node_name: node } }), last: { agent_id: id } },
    get: (name, page) => get(name, page, until),
  })
  return paged.ok ? paged.piece : paged.fault
}

/** `{}`: the agent has sent nothing yet. */
function rowOf(bytes: Buffer): Row | undefined {
  const { data } = parseEnvelope({ kind: 'json', status: 200, body: bytes })
  if (typeof data !== 'object' || data === null || Object.keys(data).length === 0) return undefined
  return flatten(data as Row)
}

/** Their filters, search and selection are made here: of one agent there are none. One piece for each node. */
function singles({ ask }: Reading, { source }: Rows, found: readonly OneRow[]): readonly Piece[] {
  const nodes = [...new Set(found.map(({ node }) => node))]
  const request = readRequest(without(ask.query, 'offset', 'limit', 'sort', 'select', 'agent_id'), new Date())
  const shape = readShape(withOrderFields(ask.query, source).select, source)
  return nodes.flatMap((node) => {
    const ids = new Map(found.flatMap((one) => (one.node === node && one.row ? [[one.row, one.id] as const] : [])))
    const matched = matching([...ids.keys()], request, source)
    const items = matched.map((row) => withId(shape(row) as Row, ids.get(row) ?? '', node))
    const data = { items, totalItems: items.length }
    const read = readPart(Buffer.from(JSON.stringify({ error: 0, data })))
    if (!read.ok) return []
    return [{ node, total: items.length, join: () => ({ rows: read.part, trusted: false }) }]
  })
}

function withId(row: Row, id: string, node: string): Row {
  return { ...(id === MANAGER && { node_name: node }), ...row, agent_id: id }
}
