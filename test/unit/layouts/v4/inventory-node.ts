/**
 * A model of the calls of the v4 layout that read the inventory of all agents, as they were measured: rows are filtered,
 * sorted and cut for each agent, agents without a database fail the call, and lost nodes are failed items.
 */
import type { NodeCall } from '../../../../src/core/node-call.ts'
import { type Respond, success } from './recorded.ts'

/** A row of `ports`, with its agent. */
export interface Port {
  readonly scan_id: number
  readonly protocol: string
  readonly local_port: number
  readonly state?: string
}

export interface InventoryAgent {
  readonly id: string
  readonly node: string
  readonly ports: readonly Port[]
  /** The agent never sent an inventory. */
  readonly hasNoDatabase?: boolean
}

export interface InventoryModel {
  readonly agents: readonly InventoryAgent[]
  readonly lostNodes?: readonly string[]
  /** The lists of agents that were asked for. */
  readonly lists?: string[][]
}

type Field = keyof Port

const FIELDS: Readonly<Record<string, Field>> = {
  'scan.id': 'scan_id',
  protocol: 'protocol',
  'local.port': 'local_port',
  state: 'state',
}

export function inventoryNode({ agents, lostNodes = [], lists = [] }: InventoryModel): Respond {
  return (call) => {
    const url = new URL(call.path, 'http://node')
    if (url.pathname === '/agents') return success(agents.map(({ id }) => ({ id })).reverse())
    const ids = (url.searchParams.get('agents_list') ?? '').split(',')
    lists.push(ids)
    const named = agents.filter(({ id }) => ids.includes(id))
    const reachable = named.filter(({ node }) => !lostNodes.includes(node))
    const lacking = reachable.filter(({ hasNoDatabase }) => hasNoDatabase)
    if (lacking.length > 0) return noDatabase(lacking)
    const lost = [...new Set(named.flatMap(({ node }) => (lostNodes.includes(node) ? [node] : [])))]
    return readPorts(url.searchParams, reachable, lost, call)
  }
}

function readPorts(query: URLSearchParams, agents: readonly InventoryAgent[], lost: readonly string[], call: NodeCall) {
  if (call.path.length + 'GET  HTTP/1.1'.length > 8190)
    return { status: 400, type: 'text/plain', body: Buffer.from('') }
  const limit = Number(query.get('limit'))
  const wanted = ['protocol', 'local.port', 'state'].flatMap((name) => {
    const value = query.get(name)
    return value === null ? [] : [[FIELDS[name] ?? 'state', value] as const]
  })
  let total = 0
  const rows = agents.flatMap(({ id, ports }) => {
    const found = ports.filter((port) => wanted.every(([field, value]) => String(port[field]) === value))
    total += found.length
    return sorted(found, query.get('sort') ?? '')
      .slice(0, limit)
      .map((port) => rowOf(port, id, query.get('select')?.split(',')))
  })
  const failed = lost.map((node) => ({ error: { code: 3022, message: `Unknown node ID: ${node}` }, id: [node] }))
  // The parts of the nodes come in any order; rows of one agent keep theirs.
  const ofSome = (even: boolean) => rows.filter(({ agent_id }) => (Number(agent_id) % 2 === 0) === even)
  return success([...ofSome(true), ...ofSome(false)], { total, failed })
}

function sorted(ports: readonly Port[], sort: string): Port[] {
  const sign = sort.startsWith('-') ? -1 : 1
  const fields = sort.replace(/^[+-]/, '').split(',')
  return ports.toSorted((a, b) => {
    for (const name of fields) {
      const field = FIELDS[name]
      if (field === undefined) continue
      const order = compare(a[field], b[field])
      if (order !== 0) return sign * order
    }
    return 0
  })
}

/** As SQLite compares values: none first. */
export function compare(a: string | number | undefined, b: string | number | undefined): number {
  if (a === undefined || b === undefined) return Number(a !== undefined) - Number(b !== undefined)
  return a < b ? -1 : a > b ? 1 : 0
}

function rowOf({ scan_id, protocol, local_port, state }: Port, agent: string, select?: readonly string[]) {
  const has = (name: string) => select === undefined || select.includes(name)
  return {
    ...(has('scan.id') && { scan: { id: scan_id } }),
    ...(has('protocol') && { protocol }),
    ...(has('local.port') && { local: { port: local_port } }),
    ...(state !== undefined && has('state') && { state }),
    agent_id: agent,
  }
}

/** Each node names its first agent without a database. */
function noDatabase(agents: readonly InventoryAgent[]) {
  const text = (id: string) => `Error retrieving data from Wazuh DB: There is no database for agent ${id}. Please check`
  const firstOf = new Map(agents.toReversed().map(({ node, id }) => [node, id]))
  const dapi_errors = Object.fromEntries([...firstOf].map(([node, id]) => [node, { error: text(id) }]))
  const detail = text(agents[0]?.id ?? '')
  const body = Buffer.from(JSON.stringify({ title: 'Bad Request', detail, dapi_errors, error: 2007 }))
  return { status: 400, type: 'application/problem+json', body }
}
