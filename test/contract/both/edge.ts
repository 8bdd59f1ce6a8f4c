/** An edge in front of a simulated cluster of either layout, in either mode of credentials. */
import { Pool } from 'undici'
import { type Layout, startSimulator } from '../../../packages/simulator/src/index.ts'
import { type RunningEdge, type Settings, startEdge } from '../../support/edge.ts'
import type { ContractRequest } from './plain.ts'

export type Mode = 'service' | 'passthrough'

export interface Outcome {
  readonly status: number
  readonly type: string
  readonly text: string
  /** Calls of the edge to nodes for this request. */
  readonly calls: readonly string[]
}

export interface ContractEdge {
  send(request: ContractRequest): Promise<Outcome>
  /** Unexpected exceptions of the simulator. */
  readonly thrown: readonly unknown[]
  close(): Promise<void>
}

const PASSWORD = 'only-for-tests'

/** The account of the edge in mode `service`, and of the client in mode `passthrough`. */
const ACCOUNT = 'edge'

/** The clock of the nodes is always `now`: logs and scans do not change between the layouts. */
export async function startContractEdge(layout: Layout, mode: Mode, now: Date): Promise<ContractEdge> {
  const simulator = await startSimulator({
    layout,
    workers: 2,
    agents: 20,
    username: ACCOUNT,
    password: PASSWORD,
    now: () => now,
  })
  const edge = await startEdge({ nodes: simulator.nodes, password: PASSWORD, settings: settingsFor(layout, mode) })
  const pool = new Pool(edge.url, { connections: 4 })
  const authorization = authorizationFor(mode, edge)
  return {
    thrown: simulator.thrown,
    async send({ endpoint, url, body }) {
      const from = simulator.seen.length
      const {
        statusCode,
        headers,
        body: received,
      } = await pool.request({
        path: url,
        method: endpoint.method,
        headers: { authorization, ...(body && { 'content-type': body.type }) },
        ...(body && { body: body.text }),
      })
      const text = await received.text()
      const id = headers['x-request-id']
      const calls = simulator.seen.slice(from).filter((seen) => seen.headers['x-request-id'] === id)
      return {
        status: statusCode,
        type: String(headers['content-type']),
        text,
        calls: calls.map((seen) => `${seen.method} ${seen.url}`),
      }
    },
    async close() {
      await pool.close()
      await edge.close()
      await simulator.close()
    },
  }
}

/** Without the cache and snapshots, so that each request needs its own call with its own parameters. */
function settingsFor(layout: Layout, mode: Mode): Settings {
  return {
    cache: { enabled: false },
    access: {
      limits: { requestsPerSecond: 100_000 },
      ...(mode === 'passthrough' && { users: null, roles: { [ACCOUNT]: ['administrator'] } }),
    },
    cluster: {
      layout,
      limits: { perMinute: 0 },
      ...(mode === 'passthrough' && { credentials: { mode, username: null, password: null } }),
    },
  }
}

function authorizationFor(mode: Mode, edge: RunningEdge): string {
  return mode === 'service' ? edge.authorization('admin') : `Basic ${btoa(`${ACCOUNT}:${PASSWORD}`)}`
}
