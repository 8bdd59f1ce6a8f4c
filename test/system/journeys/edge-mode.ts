/** An edge in mode `edge` before a simulated cluster whose nodes do not distribute, and how tests talk to it. */
import type { Test } from 'tap'
import type { Simulator } from '../../../src/simulator/index.ts'
import type { RunningEdge } from '../../support/edge.ts'
import { simulated } from '../../support/simulated.ts'

export interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly body: {
    readonly error: number
    readonly message?: string
    // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came.
    readonly data?: any
  }
}

export interface EdgeMode {
  readonly simulator: Simulator
  readonly edge: RunningEdge
  /** `GET /agents`, as `admin`. */
  ask(call: string, body?: unknown): Promise<Reply>
  /** `worker-1 GET /syscheck/002` of each call on a node since the last look, without those that owners are learnt by. */
  seen(): string[]
  /** Calls that owners were learnt by since the last look at them. */
  learnt(): string[]
}

interface Options {
  readonly agents?: number
  readonly settings?: Record<string, unknown>
  readonly cluster?: Record<string, unknown>
}

/** The account of the edge is `edge`; master, worker-1 and worker-2 own agents 001, 002, 003 and so on in turn. */
export async function edgeMode(t: Test, { agents = 40, settings = {}, cluster = {} }: Options = {}): Promise<EdgeMode> {
  const ofEdge = { ...settings, cluster: { distribution: 'edge', discover: false, ...cluster } }
  const { simulator, edge } = await simulated(t, { workers: 2, agents, distributed: false }, { settings: ofEdge })
  return { simulator, edge, ask: (call, body) => ask(edge, call, body), ...looks(simulator) }
}

export async function ask(edge: RunningEdge, call: string, body?: unknown): Promise<Reply> {
  const [method = '', path = ''] = call.split(' ')
  const answer = await fetch(`${edge.url}${path}`, {
    method,
    headers: {
      authorization: edge.authorization('admin'),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  return { status: answer.status, headers: answer.headers, body: (await answer.json()) as Reply['body'] }
}

/** What owners are learnt by. */
const LEARNING = /select=id%2Cnode_name%2Cstatus/

function looks({ seen }: Simulator): Pick<EdgeMode, 'seen' | 'learnt'> {
  const from = { calls: 0, learning: 0 }
  const since = (which: 'calls' | 'learning', wanted: boolean) => {
    const calls = seen.slice(from[which]).filter(({ url }) => LEARNING.test(url) === wanted)
    from[which] = seen.length
    return calls.map(({ node, method, url }) => `${node} ${method} ${url}`)
  }
  return { seen: () => since('calls', false), learnt: () => since('learning', true) }
}
