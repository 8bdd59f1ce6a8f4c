/**
 * What the operators do: each opens the dashboard, then works in a table (agents, packages of one agent, rules), then
 * opens the dashboard again, and so on. The plan of a client depends on the seed only, so both runs replay the same
 * requests.
 */
import { createRandom, type Random } from '../../faults/coherence/random.ts'
import { sessions } from '../clients/session.ts'

export interface PlannedRequest {
  /** Path and query. */
  readonly target: string
  /** Milliseconds between the answer to the previous request and this request. */
  readonly thinkMs: number
}

export interface PlanOptions {
  readonly clients: number
  /** Seconds in which a client thinks altogether. */
  readonly seconds: number
  readonly seed: number
  /** Mean seconds between an answer and the next request of a client in a table. */
  readonly think: number
  /** Agents whose packages are opened, from agent 001. */
  readonly viewedAgents: number
}

interface Table {
  readonly name: 'agents' | 'packages' | 'rules'
  path(random: Random, viewedAgents: number): string
  readonly rowsPerPage: number
  readonly defaultSort: string
  readonly columns: readonly string[]
  readonly filters: readonly string[]
  readonly searches: readonly string[]
}

/** The user interface offers these columns, filters and search texts; the values occur in the simulated cluster. */
const TABLES: readonly Table[] = [
  {
    name: 'agents',
    path: () => '/agents',
    rowsPerPage: 20,
    defaultSort: '-id',
    columns: ['name', 'ip', 'os.platform', 'dateAdd', 'node_name', 'version'],
    filters: ['q=status=Active', 'q=status!=Active;id!=000', 'status=Disconnected', 'os.platform=ubuntu', 'q=name~web'],
    searches: ['web', 'db', 'mail'],
  },
  {
    name: 'packages',
    path: (random, viewedAgents) => `/syscollector/${String(1 + random.below(viewedAgents)).padStart(3, '0')}/packages`,
    rowsPerPage: 10,
    defaultSort: '+name',
    columns: ['name', 'version', 'size', 'section', 'vendor', 'install_time'],
    filters: ['architecture=amd64', 'q=size>500', 'q=name~lib', 'format=deb', 'q=section=libs'],
    searches: ['lib', 'python', 'ssl', 'sys'],
  },
  {
    name: 'rules',
    path: () => '/rules',
    rowsPerPage: 15,
    defaultSort: '+id',
    columns: ['id', 'level', 'file', 'description', 'status'],
    filters: ['level=3-7', 'level=10-15', 'status=enabled', 'pci=10.2.5', 'group=syslog'],
    searches: ['login', 'error', 'sshd', 'user'],
  },
]

/** The time varies by this part of the mean in both directions. */
const THINK_SPREAD = 0.5

/** Returns the requests of each client. */
export function planOf({ clients, seconds, seed, think, viewedAgents }: PlanOptions): PlannedRequest[][] {
  return Array.from({ length: clients }, (_, client) => planOfClient(createRandom(seed * 10_007 + client)))

  function planOfClient(random: Random): PlannedRequest[] {
    const requests: PlannedRequest[] = []
    let thought = 0
    while (thought < 1000 * seconds) {
      // The dashboard sends its requests one after the other, without a user in between.
      const dashboard = sessions.classic.gets.map(({ target }) => ({ target, thinkMs: 0 }))
      const steps = stepsIn(random.of(TABLES), random, viewedAgents).map((target) => {
        return { target, thinkMs: 1000 * think * (1 - THINK_SPREAD + (2 * THINK_SPREAD * random.below(1000)) / 1000) }
      })
      for (const request of [...dashboard, ...steps]) {
        if (thought >= 1000 * seconds) break
        requests.push(request)
        thought += request.thinkMs
      }
    }
    return requests
  }
}

/** Opens a table and works in it: pages, a sort in both directions, filters with and without a sort, a search. */
function stepsIn(table: Table, random: Random, viewedAgents: number): string[] {
  const path = table.path(random, viewedAgents)
  const page = (at: number, ...parts: readonly string[]) => {
    const window = `offset=${at * table.rowsPerPage}&limit=${table.rowsPerPage}`
    return `${path}?${[window, ...parts].join('&').replaceAll('+', '%2B')}`
  }
  const sort = `sort=${table.defaultSort}`
  const [column, other] = [random.of(table.columns), random.of(table.columns)]
  const [filter, second] = [random.of(table.filters), random.of(table.filters)]
  return [
    ...[0, 1, 2, 3].map((at) => page(at, sort)),
    ...[0, 1, 2].map((at) => page(at, `sort=+${column}`)),
    ...[0, 1].map((at) => page(at, `sort=-${column}`)),
    ...[0, 1, 2].map((at) => page(at, sort, filter)),
    ...[0, 1].map((at) => page(at, `sort=-${other}`, filter)),
    ...[0, 1].map((at) => page(at, `sort=+${other}`, second)),
    page(0, sort, `search=${random.of(table.searches)}`),
  ]
}
