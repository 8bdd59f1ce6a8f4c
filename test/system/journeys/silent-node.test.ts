/**
 * A node that hangs: it accepts connections and answers nothing. With real processes, which are stopped, and with a proxy
 * that is silent. All times of the edge are a fifth of those that apply; test/faults/suite has the whole ones.
 */
import t, { type Test } from 'tap'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { type RunningEdge, startEdge } from '../../support/edge.ts'
import { eventually } from '../../support/eventually.ts'
import { type Hang, type NodeDoor, startNodeDoor } from '../../support/node-door.ts'
import { samplesOf, sumOf } from '../../support/scrape.ts'
import { together } from '../../support/together.ts'
import { ask, type Reply } from './edge-mode.ts'

const test = together(t, 2)

const SILENCE = { minWait: 400, maxWait: 800, probeTimeout: 400, probes: 2, pause: 100 }
const WRITE_TIMEOUT_MS = 2_500
/** The clients of a request that is answered at once wait less than for any call to the node that hangs. */
const AT_ONCE_MS = 400
const PASSWORD = 'only-for-tests'

interface Cluster {
  readonly edge: RunningEdge
  readonly door: Readonly<Record<string, NodeDoor>>
  ejected(): Promise<readonly string[]>
}

async function start(t: Test, layout: 'v3' | 'v4'): Promise<Cluster> {
  const simulator = await startSimulator({ layout, agents: 6, workers: 2, password: PASSWORD })
  t.teardown(() => simulator.close())
  const doors = await Promise.all(
    simulator.nodes.map(async (node) => [node.name, await startNodeDoor(t, node.url)] as const),
  )
  const door = Object.fromEntries(doors)
  const ttls = { agents: '100ms', rules: '100ms', cluster: '100ms', manager: '100ms' }
  const edge = await startEdge({
    nodes: simulator.nodes.map((node) => ({ ...node, url: door[node.name]?.url ?? '' })),
    password: PASSWORD,
    times: { cluster: { ejection: { silence: SILENCE } } },
    settings: {
      cluster: {
        layout,
        discover: false,
        limits: { timeout: `${WRITE_TIMEOUT_MS}ms`, slowTimeout: `${WRITE_TIMEOUT_MS}ms` },
      },
      cache: { ttl: ttls, endpoints: { '/cluster/:node_id/info': '100ms' }, staleIfError: '60s' },
      operations: { metrics: 'open' },
    },
  })
  t.teardown(() => edge.close())
  const ejected = async () => {
    const samples = samplesOf(await (await fetch(`${edge.operationsUrl}/metrics`)).text())
    return simulator.nodes.flatMap(({ name }) =>
      sumOf(samples, 'edge_node_ejected', { node: name }) > 0 ? [name] : [],
    )
  }
  return { edge, door, ejected }
}

const timed = async (reading: Promise<Reply>) => {
  const began = performance.now()
  const reply = await reading
  return { ...reply, ms: performance.now() - began, detail: reply.headers.get('cache-status') ?? '' }
}

interface Case {
  readonly node: string
  readonly how: Hang
  /** A read that the node answers and the edge stores, a read that others answer, and a write to the node. */
  readonly stored: string
  readonly other: string
  readonly write: string
}

async function check(t: Test, { edge, door, ejected }: Cluster, { node, how, stored, other, write }: Case) {
  const read = (call: string) => timed(ask(edge, call))
  await eventually(async () => (await read(stored)).status === 200 && (await read(other)).status === 200)
  t.same(await ejected(), [])
  const others: Awaited<ReturnType<typeof read>>[] = []
  await door[node]?.hang(how)
  const written = read(write)
  // The response is still fresh for a moment.
  await eventually(async () => (await read(stored)).detail.includes('detail=stale-if-error'))
  t.same(await ejected(), [node], 'the hang is found')
  const readStale = async () => {
    let reply = await read(stored)
    // The node may have answered a call just before it hung.
    while (reply.detail.includes('; hit; ttl=') && !reply.detail.includes('detail=')) reply = await read(stored)
    return reply
  }
  for (let each = 0; each < 5; each += 1) {
    const stale = await readStale()
    t.match(stale, { status: 200, detail: /detail=stale-if-error\/9\d\d/ })
    t.ok(stale.ms < AT_ONCE_MS, `stale at once: ${stale.ms.toFixed(0)} ms`)
    others.push(await read(other))
  }
  const verbose = await (await fetch(`${edge.operationsUrl}/readyz?verbose`)).text()
  t.match(verbose, /1 of 3 nodes hang/)
  const outcome = await written
  t.match(outcome, { status: 504, body: { error: 923 } }, 'the write has its error at its deadline')
  t.ok(outcome.ms >= WRITE_TIMEOUT_MS - 100, `${outcome.ms.toFixed(0)} ms`)
  for (const reply of others) t.match(reply, { status: 200, body: { error: 0 } })
  t.same(await ejected(), [node], 'no other node is ejected')
  await door[node]?.recover()
  const ended = performance.now()
  await eventually(async () => (await ejected()).length === 0)
  await eventually(async () => /fwd=|; hit; ttl=\d+$/.test((await read(stored)).detail))
  t.ok(performance.now() - ended < 5_000, `recovered after ${(performance.now() - ended).toFixed(0)} ms`)
}

const HANGS = ['stopped', 'silent'] as const

test('v3 layout', async (t) => {
  const cluster = await start(t, 'v3')
  for (const how of HANGS) {
    const master = { node: 'master', how, stored: 'GET /agents/001', other: 'GET /cluster/worker-1/info' }
    await t.test(`the master is ${how}`, (t) => check(t, cluster, { ...master, write: 'PUT /agents/002/restart' }))
    const worker = { node: 'worker-1', how, stored: 'GET /cluster/worker-1/info', other: 'GET /agents/001' }
    const write = `DELETE /cluster/worker-1/files?path=etc/lists/${how}`
    await t.test(`a worker is ${how}`, (t) => check(t, cluster, { ...worker, write }))
  }
})

test('v4 layout', async (t) => {
  const cluster = await start(t, 'v4')
  for (const how of HANGS) {
    const master = { node: 'master', how, stored: 'GET /agents/001', other: 'GET /rules?limit=1' }
    await t.test(`the master is ${how}`, (t) => check(t, cluster, { ...master, write: 'PUT /agents/002/restart' }))
    await t.test(`a worker is ${how}: the master answers for it`, async (t) => {
      const { edge, door, ejected } = cluster
      await door['worker-1']?.hang(how)
      for (const call of ['GET /cluster/worker-1/info', 'GET /agents/001', 'GET /rules?limit=2']) {
        t.match(await ask(edge, call), { status: 200, body: { error: 0 } }, call)
      }
      t.same(await ejected(), [])
      await door['worker-1']?.recover()
    })
  }
})
