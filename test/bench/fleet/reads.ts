/** The reads of `npm run bench:fleet`, in their order: each may use what those before it have paid for. */
import { priceOfRead } from '../../../src/core/request.ts'

export interface FleetRead {
  readonly name: string
  /** One URL, or the URLs of a walk, whose pages together have each of `rows` rows once. */
  readonly urls: readonly string[]
  readonly rows?: number
  /** The most calls of the first time. The second time, at the other replica, costs none. */
  readonly calls: number
  /** Rows of all agents: a response that covers some of them only is not stored. */
  readonly isOfAllAgents?: true
}

export interface Fleet {
  /** Agents with the manager itself. */
  readonly agents: number
  readonly nodes: number
  /** By group. */
  readonly members: number
  readonly group: string
  readonly mode: FleetMode
}

/** Nodes of the v3 layout in one of its modes, or of the v4 one behind either contract. */
export const modes = {
  manager: { contract: 'v3', layout: 'v3', distribution: 'manager' },
  edge: { contract: 'v3', layout: 'v3', distribution: 'edge' },
  v4: { contract: 'v3', layout: 'v4', distribution: 'manager' },
  'v4-contract': { contract: 'v4', layout: 'v4', distribution: 'manager' },
} as const
export type FleetMode = keyof typeof modes

const PAGE = 500
/** The rows that the edge requests at once. */
const ROWS_PER_CALL = { v3: 1000, v4: 5000 } as const

function walk(path: string, rows: number): Pick<FleetRead, 'urls' | 'rows'> {
  const sign = path.includes('?') ? '&' : '?'
  const offsets = Array.from({ length: Math.ceil(rows / PAGE) }, (_, page) => page * PAGE)
  return { urls: offsets.map((offset) => `${path}${sign}limit=${PAGE}&offset=${offset}`), rows }
}

/** A walk asks the node for two pages, and reads all rows if that takes fewer calls than its other pages. */
function callsOfWalk(rows: number, mode: FleetMode): number {
  return 2 + Math.ceil(rows / ROWS_PER_CALL[modes[mode].layout])
}

const one = (url: string, calls: number): FleetRead => ({ name: url, urls: [url], calls })

function walkOf(path: string, rows: number, mode: FleetMode): FleetRead {
  return { name: `walk of ${path}`, ...walk(path, rows), calls: callsOfWalk(rows, mode) }
}

/** The path of the members of a group. */
export function membersOf({ mode, group }: Pick<Fleet, 'mode' | 'group'>): string {
  return mode === 'v4-contract' ? `/groups/${group}/agents` : `/agents/groups/${group}`
}

export function fleetReads(fleet: Fleet): readonly FleetRead[] {
  const { agents, members, mode } = fleet
  return [
    one('/agents?limit=500', 1),
    walkOf('/agents', agents, mode),
    { name: 'walk by 500, other order', ...walk('/agents?sort=-name', agents), calls: 0 },
    one('/agents?sort=name&limit=20', 0),
    // Nodes of the v4 layout have other states than the v3 contract.
    one('/agents?status=active&limit=500&offset=50', mode === 'v4' ? 1 : 0),
    one('/agents?select=id,name,status&limit=500&offset=100', 0),
    // A search also finds keys, which no response has.
    one('/agents?search=web&limit=100', 1),
    one('/agents?q=id<300;name~db&limit=100', 0),
    one('/agents?sort=version&limit=20', 1),
    ...(mode === 'v4-contract' ? v4Only(fleet) : v3Only(fleet)),
    walkOf(membersOf(fleet), members, mode),
    one('/agents/stats/distinct?fields=os.platform', 1),
    one('/agents/no_group?limit=500', 1),
    // Its owner is looked up if the owner table is not there within a second.
    one('/syscollector/001/packages', mode === 'edge' ? 2 : 1),
    one('/cluster/nodes', 1),
    one('/cluster/healthcheck', 1),
    ...(mode === 'v4-contract' ? [] : joined(fleet)),
  ]
}

function v3Only({ mode }: Fleet): readonly FleetRead[] {
  const isV4 = mode === 'v4'
  return [
    one('/agents/summary', isV4 ? 2 : 1),
    one('/summary/agents', isV4 ? 2 : 1),
    one('/agents/groups', 1),
    one('/agents/001', 1),
  ]
}

/** The master joins the rows of all agents. */
function v4Only({ agents }: Fleet): readonly FleetRead[] {
  const packages = '/experimental/syscollector/packages'
  return [
    one('/agents/summary/status', 1),
    one('/overview/agents', 1),
    one('/groups', 1),
    one('/agents?agents_list=001', 1),
    one(`${packages}?agents_list=001,002,003&limit=500`, 1),
    // Refused because of an agent without a database: the edge lists the others, and names them, as many as a request line takes.
    ...(agents < MAX_NAMED_AGENTS ? [one(`${packages}?limit=20`, 3)] : []),
    one('/cluster/api/config', 1),
  ]
}

const MAX_NAMED_AGENTS = 1500

function joined({ nodes, mode }: Fleet): readonly FleetRead[] {
  const price = priceOfRead(nodes)
  const cut = (url: string): FleetRead => ({ ...one(url, price), isOfAllAgents: true })
  return [
    cut('/experimental/syscollector/packages?limit=500'),
    cut('/experimental/syscollector/hardware?sort=-ram_total&limit=20'),
    one('/cluster/*/info', mode === 'v4' ? price : nodes),
  ]
}
