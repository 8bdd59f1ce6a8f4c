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

/** Nodes of the classic layout in one of its modes, or of the newer one behind the classic contract. */
export const modes = {
  manager: { layout: 'classic', distribution: 'manager' },
  edge: { layout: 'classic', distribution: 'edge' },
  newer: { layout: 'newer', distribution: 'manager' },
} as const
export type FleetMode = keyof typeof modes

const PAGE = 500
/** The rows that a node returns at once. */
const ROWS_PER_CALL = 1000

function walk(path: string, rows: number): Pick<FleetRead, 'urls' | 'rows'> {
  const sign = path.includes('?') ? '&' : '?'
  const offsets = Array.from({ length: Math.ceil(rows / PAGE) }, (_, page) => page * PAGE)
  return { urls: offsets.map((offset) => `${path}${sign}limit=${PAGE}&offset=${offset}`), rows }
}

/** A walk asks the node for two pages, and reads all rows if that takes fewer calls than its other pages. */
function callsOfWalk(rows: number): number {
  return 2 + Math.ceil(rows / ROWS_PER_CALL)
}

export function fleetReads({ agents, nodes, members, group, mode }: Fleet): readonly FleetRead[] {
  const price = priceOfRead(nodes)
  const isNewer = mode === 'newer'
  const one = (url: string, calls: number): FleetRead => ({ name: url, urls: [url], calls })
  const cut = (url: string): FleetRead => ({ name: url, urls: [url], calls: price, isOfAllAgents: true })
  return [
    one('/agents?limit=500', 1),
    { name: 'walk of /agents by 500', ...walk('/agents', agents), calls: callsOfWalk(agents) },
    { name: 'walk by 500, other order', ...walk('/agents?sort=-name', agents), calls: 0 },
    one('/agents?sort=name&limit=20', 0),
    // Nodes of the newer layout have other states.
    one('/agents?status=active&limit=500&offset=50', isNewer ? 1 : 0),
    one('/agents?select=id,name,status&limit=500&offset=100', 0),
    // A search also finds keys, which no response has.
    one('/agents?search=web&limit=100', 1),
    one('/agents?q=id<300;name~db&limit=100', 0),
    one('/agents?sort=version&limit=20', 1),
    one('/agents/summary', isNewer ? 2 : 1),
    one('/summary/agents', isNewer ? 2 : 1),
    one('/agents/groups', 1),
    {
      name: `walk of /agents/groups/${group}`,
      ...walk(`/agents/groups/${group}`, members),
      calls: callsOfWalk(members),
    },
    one('/agents/stats/distinct?fields=os.platform', 1),
    one('/agents/no_group?limit=500', 1),
    one('/agents/001', 1),
    // Its owner is looked up if the owner table is not there within a second.
    one('/syscollector/001/packages', mode === 'edge' ? 2 : 1),
    cut('/experimental/syscollector/packages?limit=500'),
    cut('/experimental/syscollector/hardware?sort=-ram_total&limit=20'),
    one('/cluster/nodes', 1),
    one('/cluster/healthcheck', 1),
    one('/cluster/*/info', isNewer ? price : nodes),
  ]
}
