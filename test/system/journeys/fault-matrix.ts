/** Three simulated nodes, each behind a proxy that misbehaves on demand, and an edge in mode `edge` before them. */
import type { Test } from 'tap'
import { type Fault as Answering, type Simulator, startSimulator } from '../../../src/simulator/index.ts'
import { type FaultProxy, startFaultProxy, type Fault as Wire } from '../../faults/proxy.ts'
import { type RunningEdge, startEdge } from '../../support/edge.ts'

/** What is done to a node, and the words in which a joined answer must tell of it. */
export interface Injected {
  readonly name: string
  readonly wire?: Wire
  readonly answering?: Answering
  readonly says: RegExp
  /** The node may have acted on a write. */
  readonly open: boolean
}

/** Milliseconds. */
export const DEADLINE = 1_500

export const faults: readonly Injected[] = [
  { name: 'refused', wire: { kind: 'refuse' }, says: /;error=connection_refused$/, open: false },
  { name: 'reset', wire: { kind: 'reset' }, says: /;error=connection_terminated$/, open: true },
  { name: 'drip', wire: { kind: 'drip', ms: 50 }, says: /;error=http_response_timeout$/, open: true },
  { name: 'stall', wire: { kind: 'stall' }, says: /;error=http_response_timeout$/, open: true },
  { name: 'truncated', answering: { truncate: 10 }, says: /;error=http_response_incomplete$/, open: true },
  { name: 'page of HTML', answering: { html: true }, says: /;error=http_protocol_error$/, open: true },
  { name: 'status 500', answering: { status: 500 }, says: /;error=http_protocol_error$/, open: true },
  {
    name: 'error 1017',
    answering: { error: 1017 },
    says: /;error=destination_unavailable;received-status=200;detail="?1017"?$/,
    open: false,
  },
]

export interface Reply {
  readonly status: number
  readonly milliseconds: number
  /** Members of `Cluster-Status`, by node. */
  readonly told: ReadonlyMap<string, string>
  readonly cache: string
  readonly body: {
    readonly error: number
    readonly message?: string
    // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came.
    readonly data?: any
  }
}

export interface Matrix {
  readonly simulator: Simulator
  ask(call: string): Promise<Reply>
  inject(node: string, fault: Injected): Promise<void>
  /** Resolves when the node serves again: an edge leaves it alone for a moment. */
  recover(node: string): Promise<void>
}

export async function matrix(t: Test): Promise<Matrix> {
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
        // Room for all families at once: none of them is to wait until the node is ejected.
        limits: { inFlight: 32, timeout: `${DEADLINE}ms`, slowTimeout: `${DEADLINE}ms` },
      },
      cache: { durations: { agents: '1h', cluster: '1h', manager: '1h', syscollector: '1h' } },
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
    async inject(node, { wire, answering }) {
      if (wire) await proxies.get(node)?.set(wire)
      if (answering) await simulator.faults.set(node, answering)
    },
    async recover(node) {
      await proxies.get(node)?.set({ kind: 'pass' })
      await simulator.faults.clear(node)
      for (let tries = 0; tries < 200; tries += 1) {
        const { body } = await ask(`GET /cluster/${node}/stats/hourly?pretty&try=${tries}`)
        if (body.error === 0) return
        await new Promise((done) => setTimeout(done, 50))
      }
      throw new Error(`${node} is not back`)
    },
  }
}

async function askEdge(edge: RunningEdge, call: string): Promise<Reply> {
  const [method = '', path = ''] = call.split(' ')
  const began = performance.now()
  const answer = await fetch(`${edge.url}${path}`, { method, headers: { authorization: edge.authorization('admin') } })
  const body = (await answer.json()) as Reply['body']
  const members = (answer.headers.get('cluster-status') ?? '').split(', ').filter((member) => member !== '')
  return {
    status: answer.status,
    milliseconds: performance.now() - began,
    told: new Map(members.map((member) => [member.split(';')[0] ?? '', member])),
    cache: answer.headers.get('cache-status') ?? '',
    body,
  }
}
