/**
 * The sessions that the benchmark measures: each client shows a dashboard. It requests one GET, waits for the response,
 * thinks for one second, and requests the next GET of the table; after the last one it begins again. So a client
 * requests at most one URL per second, and an answer that takes long delays its next request (a closed loop).
 */
import type { V4User } from '../../../packages/simulator/src/index.ts'
import type { Contract, Endpoint } from '../../../src/contracts/endpoint.ts'
import { catalogue } from '../../../src/contracts/index.ts'
import { v4Contract } from '../../../src/contracts/v4/index.ts'

export interface DashboardGet {
  /** Path and query, as the user interface sends them. */
  readonly target: string
  /** The path of the record in the catalogue. */
  readonly path: string
  /** The page of the user interface that sends it. */
  readonly page: string
}

export interface Session {
  readonly contract: Contract
  readonly catalogue: readonly Endpoint[]
  readonly gets: readonly DashboardGet[]
  /** How the body of each success begins and ends. */
  readonly success: { readonly beginning: string; readonly ending: string }
  /** Users of the manager, divided evenly among the clients. Absent: the clients have one account at the edge. */
  readonly users?: Readonly<Record<string, V4User>>
  /** The places of the GETs that clients send, in turn as the users are. Absent: all clients send all. */
  readonly turns?: readonly (readonly number[])[]
  /** Whether the manager refuses some of the GETs to some of the users. Such an answer is no error. */
  readonly hasRefusals?: true
  /** Milliseconds that answers may take. Absent: those that `report.ts` has for rows of many clients. */
  readonly latency?: { readonly median: number; readonly p95: number }
}

const V3_GETS: readonly DashboardGet[] = [
  { target: '/manager/info', path: '/manager/info', page: 'check of the API at each page load' },
  { target: '/cluster/status', path: '/cluster/status', page: 'check of the API at each page load' },
  { target: '/agents/summary', path: '/agents/summary', page: 'overview' },
  { target: '/agents?limit=1&sort=-dateAdd', path: '/agents', page: 'overview: the last registered agent' },
  { target: '/summary/agents', path: '/summary/agents', page: 'preview of the agents' },
  { target: '/agents?offset=0&limit=500&sort=-id', path: '/agents', page: 'preview of the agents: the table' },
  { target: '/manager/status', path: '/manager/status', page: 'status: the daemons' },
  { target: '/cluster/nodes', path: '/cluster/nodes', page: 'status: the nodes' },
  { target: '/manager/logs?limit=10', path: '/manager/logs', page: 'status: the latest log entries' },
]

const INVENTORY = '/syscollector/:agent_id'

const V4_GETS: readonly DashboardGet[] = [
  { target: '/', path: '/', page: 'check of the API at each page load' },
  { target: '/cluster/status', path: '/cluster/status', page: 'check of the API at each page load' },
  { target: '/agents?agents_list=000', path: '/agents', page: 'check of the API at each page load' },
  { target: '/security/users/me/policies', path: '/security/users/me/policies', page: 'start: what the user may do' },
  { target: '/agents/summary/status', path: '/agents/summary/status', page: 'overview' },
  { target: '/overview/agents', path: '/overview/agents', page: 'overview of the agents' },
  { target: '/agents?limit=1&sort=-dateAdd&q=id!=000', path: '/agents', page: 'overview: the last registered agent' },
  {
    target: '/agents?offset=0&limit=500&sort=-id&q=id!=000',
    path: '/agents',
    page: 'preview of the agents: the table',
  },
  { target: '/groups?limit=10&sort=%2Bname', path: '/groups', page: 'groups' },
  { target: '/rules?offset=0&limit=15&sort=%2Bid', path: '/rules', page: 'rules' },
  { target: '/syscollector/001/hardware', path: `${INVENTORY}/hardware`, page: 'inventory of an agent' },
  { target: '/syscollector/001/os', path: `${INVENTORY}/os`, page: 'inventory of an agent' },
  { target: '/syscollector/001/packages?limit=10', path: `${INVENTORY}/packages`, page: 'inventory of an agent' },
  { target: '/manager/status', path: '/manager/status', page: 'status: the daemons' },
  { target: '/cluster/nodes', path: '/cluster/nodes', page: 'status: the nodes' },
  { target: '/manager/logs?limit=10', path: '/manager/logs', page: 'status: the latest log entries' },
]

const GETS_OF_USERS: readonly DashboardGet[] = [
  ...V4_GETS,
  {
    target: '/agents/stats/distinct?fields=os.platform',
    path: '/agents/stats/distinct',
    page: 'overview: the agents by platform',
  },
  { target: '/manager/info', path: '/manager/info', page: 'about the manager' },
  { target: '/security/roles?limit=10', path: '/security/roles', page: 'roles' },
]

/** The pages that the users of each role open, besides those of the start. Some of them are refused. */
const PAGES = {
  administrator: /^(overview|preview|groups|rules|status|roles)/,
  readonly: /^(overview|preview|rules|inventory|status)/,
  agents_readonly: /^(overview|preview|groups|inventory|about)/,
  cluster_readonly: /^(overview|status|about)/,
  users_admin: /^(overview|roles|about|status: the nodes)/,
} as const
const ROLES = Object.keys(PAGES) as (keyof typeof PAGES)[]
const OF_ALL = /^(check|start)/

/** Returns users with these roles in turn. */
function usersOf(number: number, roles: typeof ROLES): NonNullable<Session['users']> {
  const names = Array.from({ length: number }, (_, at) => [`user-${at}`, roles[at % roles.length]] as const)
  return Object.fromEntries(
    names.map(([name, role]) => [name, { password: `${name}-pw`, roles: role === undefined ? [] : [role] }]),
  )
}

/** Returns the session of many users of the manager with five roles, each of whom has an own login. */
export function sessionOfUsers(number: number): Session {
  const { v4 } = sessions
  return {
    ...v4,
    gets: GETS_OF_USERS,
    users: usersOf(number, ROLES),
    turns: ROLES.map((role) =>
      GETS_OF_USERS.flatMap(({ page }, get) => (OF_ALL.test(page) || PAGES[role].test(page) ? [get] : [])),
    ),
    hasRefusals: true,
    latency: { median: 20, p95: 1_000 },
  }
}

export const sessions: Readonly<Record<Contract, Session>> = {
  v3: { contract: 'v3', catalogue, gets: V3_GETS, success: { beginning: '{"error":0,', ending: '}' } },
  v4: {
    contract: 'v4',
    catalogue: v4Contract,
    gets: V4_GETS,
    success: { beginning: '{"data":', ending: '"error":0}' },
    // A dashboard has one account for all who use it.
    users: usersOf(4, ['administrator', 'readonly']),
  },
}

/** Mean milliseconds between an answer and the next request of a client. */
const THINK_MS = 1000
/**
 * The time varies by this part of the mean in both directions. With exactly equal times, all clients that waited for the
 * same fetch would send all further requests in the same millisecond.
 */
const THINK_SPREAD = 0.5

/** Returns the milliseconds until the next request of a client. */
export function thinkTime(): number {
  return THINK_MS * (1 - THINK_SPREAD + 2 * THINK_SPREAD * Math.random())
}

/** Milliseconds after which a client gives up. */
export const CLIENT_TIMEOUT_MS = 60_000

/** Milliseconds after which a client of the v4 contract logs in again. */
export const LOGIN_INTERVAL_MS = 15 * 60_000
