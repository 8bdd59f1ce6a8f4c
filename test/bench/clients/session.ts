/**
 * The session that the benchmark measures: each client shows a dashboard. It requests one GET, waits for the response,
 * thinks for one second, and requests the next GET of the table; after the last one it begins again. So a client
 * requests at most one URL per second, and an answer that takes long delays its next request (a closed loop).
 */

export interface DashboardGet {
  /** Path and query, as the user interface sends them. */
  readonly target: string
  /** The path of the record in the catalogue. */
  readonly path: string
  /** The page of the user interface that sends it. */
  readonly page: string
}

export const DASHBOARD: readonly DashboardGet[] = [
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
