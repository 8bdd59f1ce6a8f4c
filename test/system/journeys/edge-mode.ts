/** An edge in distribution mode `edge` in front of a simulated cluster whose nodes do not distribute. */
import type { Test } from 'tap'
import type { Simulator } from '../../../packages/simulator/src/index.ts'
import type { RunningEdge } from '../../support/edge.ts'
import { simulated } from '../../support/simulated.ts'

export interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly body: {
    readonly error: number
    readonly message?: string
    // biome-ignore lint/suspicious/noExplicitAny: tests inspect arbitrary responses.
    readonly data?: any
  }
}

export interface EdgeMode {
  readonly simulator: Simulator
  readonly edge: RunningEdge
  /** Sends a call such as `GET /agents` as `admin`. */
  ask(call: string, body?: unknown): Promise<Reply>
  /** Returns calls to nodes since the last call of this function, as `worker-1 GET /syscheck/002`. Owner lookups and probes of the edge are left out. */
  seen(): string[]
  /** Returns the owner lookups since the last call of this function. */
  lookups(): string[]
}

interface Options {
  readonly agents?: number
  readonly settings?: Record<string, unknown>
  readonly cluster?: Record<string, unknown>
}

/** Agents 001, 002, 003 and so on report to master, worker-1 and worker-2 in turn. */
export async function edgeMode(t: Test, { agents = 40, settings = {}, cluster = {} }: Options = {}): Promise<EdgeMode> {
  const ofEdge = { ...settings, cluster: { distribution: 'edge', discover: false, ...cluster } }
  const { simulator, edge } = await simulated(t, { workers: 2, agents, distributed: false }, { settings: ofEdge })
  return { simulator, edge, ask: (call, body) => ask(edge, call, body), ...recordedCalls(simulator) }
}

export async function ask(edge: RunningEdge, call: string, body?: unknown): Promise<Reply> {
  const [method = '', path = ''] = call.split(' ')
  const response = await fetch(`${edge.url}${path}`, {
    method,
    headers: {
      authorization: edge.authorization('admin'),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  return { status: response.status, headers: response.headers, body: (await response.json()) as Reply['body'] }
}

/** The query of owner lookups. */
const OWNER_LOOKUP = /select=id%2Cnode_name%2Cstatus/
/** The calls of readiness probes, and of the check whether nodes distribute requests themselves. */
const PROBE = /^\/version$|^\/cluster\/[^/]+\/info$/

function recordedCalls({ seen }: Simulator): Pick<EdgeMode, 'seen' | 'lookups'> {
  const from = { calls: 0, lookups: 0 }
  const since = (which: 'calls' | 'lookups', wanted: boolean) => {
    const calls = seen.slice(from[which]).filter(({ url }) => !PROBE.test(url) && OWNER_LOOKUP.test(url) === wanted)
    from[which] = seen.length
    return calls.map(({ node, method, url }) => `${node} ${method} ${url}`)
  }
  return { seen: () => since('calls', false), lookups: () => since('lookups', true) }
}
