/** Three simulated nodes, each behind a proxy that injects faults, and an edge in distribution mode `edge`. */
import type { Test } from 'tap'
import { type Fault as NodeFault, type Simulator, startSimulator } from '../../../packages/simulator/src/index.ts'
import { type FaultProxy, type Fault as ProxyFault, startFaultProxy } from '../../faults/proxy.ts'
import { type RunningEdge, startEdge } from '../../support/edge.ts'

/** A fault of a node, and the Cluster-Status that a joined response must have for it. */
export interface InjectedFault {
  readonly name: string
  readonly ofProxy?: ProxyFault
  readonly ofNode?: NodeFault
  readonly expectedStatus: RegExp
}

/** Milliseconds. */
export const DEADLINE = 3_000

export const faults: readonly InjectedFault[] = [
  { name: 'refused', ofProxy: { kind: 'refuse' }, expectedStatus: /;error=connection_refused$/ },
  { name: 'reset', ofProxy: { kind: 'reset' }, expectedStatus: /;error=connection_terminated$/ },
  { name: 'drip', ofProxy: { kind: 'drip', ms: 50 }, expectedStatus: /;error=http_response_timeout$/ },
  { name: 'stall', ofProxy: { kind: 'stall' }, expectedStatus: /;error=http_response_timeout$/ },
  { name: 'truncated', ofNode: { truncate: 10 }, expectedStatus: /;error=http_response_incomplete$/ },
  { name: 'page of HTML', ofNode: { html: true }, expectedStatus: /;error=http_protocol_error$/ },
  { name: 'status 500', ofNode: { status: 500 }, expectedStatus: /;error=http_protocol_error$/ },
  {
    name: 'error 1017',
    ofNode: { error: 1017 },
    expectedStatus: /;error=destination_unavailable;received-status=200;detail="?1017"?$/,
  },
]

export interface Reply {
  readonly status: number
  readonly milliseconds: number
  /** Members of `Cluster-Status`, by node. */
  readonly nodeStatus: ReadonlyMap<string, string>
  readonly cache: string
  readonly body: {
    readonly error: number
    readonly message?: string
    // biome-ignore lint/suspicious/noExplicitAny: tests inspect arbitrary responses.
    readonly data?: any
  }
}

export interface Matrix {
  readonly simulator: Simulator
  ask(call: string): Promise<Reply>
  inject(node: string, fault: InjectedFault): Promise<void>
  /** Resolves when the node is no longer ejected. */
  recover(node: string): Promise<void>
}

export async function startFaultMatrix(t: Test): Promise<Matrix> {
  const simulator = await startSimulator({ workers: 2, agents: 12, distributed: false, password: 'only-for-tests' })
  const proxies = new Map<string, FaultProxy>()
  for (const { name, url } of simulator.nodes) proxies.set(name, await startFaultProxy(Number(new URL(url).port)))
  const edge = await startEdge({
    nodes: simulator.nodes.map(({ name, type }) => {
      return { name, type, url: `http://127.0.0.1:${proxies.get(name)?.port}` }
    }),
    settings: {
      cluster: {
        distribution: 'edge',
        discover: false,
        // Enough slots for all families at once, so that none waits until the node is ejected.
        limits: { inFlight: 32, timeout: `${DEADLINE}ms`, slowTimeout: `${DEADLINE}ms` },
      },
      cache: { ttl: { agents: '1h', cluster: '1h', manager: '1h', syscollector: '1h' } },
    },
  })
  t.teardown(async () => {
    await edge.close()
    for (const proxy of proxies.values()) await proxy.close()
    await simulator.close()
  })
  const ask = (call: string) => askEdge(edge, call)
  return {
    simulator,
    ask,
    async inject(node, { ofProxy, ofNode }) {
      if (ofProxy) await proxies.get(node)?.set(ofProxy)
      if (ofNode) await simulator.faults.set(node, ofNode)
    },
    async recover(node) {
      await proxies.get(node)?.set({ kind: 'pass' })
      await simulator.faults.clear(node)
      for (let tries = 0; tries < 200; tries += 1) {
        const { body } = await ask(`GET /cluster/${node}/stats/hourly?pretty&try=${tries}`)
        if (body.error === 0) return
        await new Promise((done) => setTimeout(done, 50))
      }
      throw new Error(`${node} has not recovered`)
    },
  }
}

async function askEdge(edge: RunningEdge, call: string): Promise<Reply> {
  const [method = '', path = ''] = call.split(' ')
  const startedAt = performance.now()
  const response = await fetch(`${edge.url}${path}`, {
    method,
    headers: { authorization: edge.authorization('admin') },
  })
  const body = (await response.json()) as Reply['body']
  const members = (response.headers.get('cluster-status') ?? '').split(', ').filter((member) => member !== '')
  return {
    status: response.status,
    milliseconds: performance.now() - startedAt,
    nodeStatus: new Map(members.map((member) => [member.split(';')[0] ?? '', member])),
    cache: response.headers.get('cache-status') ?? '',
    body,
  }
}
