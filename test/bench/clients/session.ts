/**
 * The sessions that the benchmark measures: each client shows a dashboard. It requests one GET, waits for the response,
 * thinks for one second, and requests the next GET of the table; after the last one it begins again. So a client
 * requests at most one URL per second, and an answer that takes long delays its next request (a closed loop).
 */
import type { Contract, Endpoint } from '../../../src/catalogue/endpoint.ts'
import { catalogue } from '../../../src/catalogue/index.ts'
import { newerContract } from '../../../src/catalogue/newer-contract/index.ts'

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
}

const CLASSIC_GETS: readonly DashboardGet[] = [
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

const NEWER_GETS: readonly DashboardGet[] = [
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

export const sessions: Readonly<Record<Contract, Session>> = {
  classic: { contract: 'classic', catalogue, gets: CLASSIC_GETS, success: { beginning: '{"error":0,', ending: '}' } },
  newer: {
    contract: 'newer',
    catalogue: newerContract,
    gets: NEWER_GETS,
    success: { beginning: '{"data":', ending: '"error":0}' },
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

/** Milliseconds after which a client of the newer contract logs in again. */
export const LOGIN_INTERVAL_MS = 15 * 60_000
