import { connect } from 'node:net'
import type { Test } from 'tap'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { type RunningEdge, startEdge } from '../../support/edge.ts'
import { type SocketResponse, sendRaw } from '../../support/raw.ts'

/** A bad request and the expected response; `error` is the code in the body. */
export interface Row {
  readonly id: string
  readonly what: string
  readonly method?: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
  readonly status: number | readonly number[]
  readonly error?: number
  /**
   * Milliseconds of CPU time of this process, in which the edge runs: other processes do not count. The limit is
   * generous. It detects super-linear work.
   */
  readonly within?: number
  /** A node may receive the request. */
  readonly reaches?: true
}

export interface Stage {
  readonly edge: RunningEdge
  readonly simulator: Awaited<ReturnType<typeof startSimulator>>
  /** Requests of clients that reached a node (discovery aside). */
  reached(): number
  send(row: Row): Promise<SocketResponse>
  close(): Promise<void>
}

export async function stage(): Promise<Stage> {
  const simulator = await startSimulator({ workers: 2, agents: 10, username: 'edge', password: 'only-for-tests' })
  const edge = await startEdge({
    nodes: simulator.nodes,
    password: 'only-for-tests',
    settings: { access: { limits: { requestsPerSecond: 100_000, failedLogins: 100_000 } } },
  })
  return {
    edge,
    simulator,
    reached: () => simulator.seen.filter(({ headers }) => headers['x-request-id'] !== 'discovery').length,
    send: (row) => sendRaw(edge.url, bytes(row, edge.authorization('admin'))),
    close: async () => {
      await edge.close()
      await simulator.close()
    },
  }
}

function bytes(row: Row, authorization: string): Buffer {
  const body = Buffer.from(row.body ?? '')
  const headers = {
    Host: 'edge',
    Authorization: authorization,
    ...(row.body !== undefined && { 'Content-Length': String(body.length) }),
    ...row.headers,
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  const head = [`${row.method ?? 'GET'} ${row.path} HTTP/1.1`, ...lines].join('\r\n')
  return Buffer.concat([Buffer.from(`${head}\r\n\r\n`, 'latin1'), body])
}

/** Asserts one of the expected statuses, the form of the contract, the time limit, and that nothing reaches a node. */
export async function holds(t: Test, at: Stage, row: Row): Promise<SocketResponse> {
  const before = at.reached()
  const cpu = process.cpuUsage()
  const response = await at.send(row)
  const took = process.cpuUsage(cpu).user / 1000
  const statuses = typeof row.status === 'number' ? [row.status] : row.status
  t.ok(statuses.includes(response.status), `${row.id} ${row.what}: ${response.status} ${response.body.slice(0, 150)}`)
  if (response.status >= 400 && response.status !== 401) {
    const body = JSON.parse(response.body) as { error: unknown; message: unknown }
    t.type(body.error, 'number', `${row.id} has a code`)
    t.type(body.message, 'string', `${row.id} has a message`)
    if (row.error !== undefined) t.equal(body.error, row.error, `${row.id} ${row.what}: ${response.body.slice(0, 150)}`)
  }
  if (row.within !== undefined) t.ok(took < row.within, `${row.id} took ${took.toFixed(1)} ms of CPU time`)
  if (!row.reaches) t.equal(at.reached(), before, `${row.id} ${row.what}: nothing reached a node`)
  return response
}

/** Returns whether the edge still accepts connections: no request may end the process. */
export async function alive(at: Stage): Promise<boolean> {
  const { port } = new URL(at.edge.url)
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port: Number(port) }, () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })
}
