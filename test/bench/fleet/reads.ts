/** The reads of `npm run bench:fleet`, in their order: each may use what those before it have paid for. */

export interface FleetRead {
  readonly name: string
  /** One URL, or the URLs of a walk, whose pages together have each of `rows` rows once. */
  readonly urls: readonly string[]
  readonly rows?: number
  /** The most calls of the first time. The second time, at the other replica, costs none. */
  readonly calls: number
  /** The response covers some of the agents only, and is not stored. */
  readonly isCut?: true
}

export interface Fleet {
  /** Agents with the manager itself. */
  readonly agents: number
  readonly nodes: number
  /** By group. */
  readonly members: number
  readonly group: string
}

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

export function fleetReads({ agents, nodes, members, group }: Fleet): readonly FleetRead[] {
  const price = 2 * nodes + 10
  const one = (url: string, calls: number): FleetRead => ({ name: url, urls: [url], calls })
  const cut = (url: string): FleetRead => ({ name: url, urls: [url], calls: price, isCut: true })
  return [
    one('/agents?limit=500', 1),
    { name: 'walk of /agents by 500', ...walk('/agents', agents), calls: callsOfWalk(agents) },
    { name: 'walk by 500, other order', ...walk('/agents?sort=-name', agents), calls: 0 },
    one('/agents?sort=name&limit=20', 0),
    one('/agents?status=active&limit=500&offset=50', 0),
    one('/agents?select=id,name,status&limit=500&offset=100', 0),
    // A search also finds keys, which no response has.
    one('/agents?search=web&limit=100', 1),
    one('/agents?q=id<300;name~db&limit=100', 0),
    one('/agents?sort=version&limit=20', 1),
    one('/agents/summary', 1),
    one('/summary/agents', 1),
    one('/agents/groups', 1),
    {
      name: `walk of /agents/groups/${group}`,
      ...walk(`/agents/groups/${group}`, members),
      calls: callsOfWalk(members),
    },
    one('/agents/stats/distinct?fields=os.platform', 1),
    one('/agents/no_group?limit=500', 1),
    one('/agents/001', 1),
    one('/syscollector/001/packages', 1),
    cut('/experimental/syscollector/packages?limit=500'),
    cut('/experimental/syscollector/hardware?sort=-ram_total&limit=20'),
    one('/cluster/nodes', 1),
    one('/cluster/healthcheck', 1),
    one('/cluster/*/info', nodes),
  ]
}
