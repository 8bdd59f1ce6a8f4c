/**
 * The master hangs, and the edge is not certain of it yet: no read that something stored may answer waits longer than 2 s.
 * With real processes, and the times of the edge that apply.
 */
import t from 'tap'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { PAUSE_MS } from '../../../src/core/node-call.ts'
import { startEdge } from '../../support/edge.ts'
import { eventually } from '../../support/eventually.ts'
import { startNodeDoor } from '../../support/node-door.ts'
import { samplesOf, sumOf } from '../../support/scrape.ts'
import { ask } from './edge-mode.ts'

const PASSWORD = 'only-for-tests'
const MAX_WAIT_MS = 2_000
/** Shorter than the edge needs to be certain. */
const HANG_MS = 4_000
const GROUPS = ['agents', 'manager', 'rules', 'cluster']

const STORED = [
  '/agents/001',
  '/agents/002',
  '/manager/info',
  '/rules?limit=3',
  '/agents?limit=2',
  '/agents?limit=2&offset=2',
]
/** Pages that were never requested, of a collection of which there is a snapshot. */
const COMPUTED = ['/agents?limit=3', '/agents?limit=1&sort=-id', '/agents?limit=2&offset=1&select=id']

for (const [layout, expected] of [
  ['v3', STORED.length],
  ['v4', STORED.length],
] as const) {
  t.test(`${layout} layout`, async (t) => {
    const simulator = await startSimulator({ layout, agents: 6, workers: 1, password: PASSWORD })
    t.teardown(() => simulator.close())
    const [master, worker] = simulator.nodes
    const door = await startNodeDoor(t, master?.url ?? '')
    const edge = await startEdge({
      nodes: [{ ...master, url: door.url }, worker] as typeof simulator.nodes,
      password: PASSWORD,
      settings: {
        cluster: { layout, discover: false },
        cache: {
          ttl: Object.fromEntries(GROUPS.map((group) => [group, '200ms'])),
          endpoints: { '/manager/info': '200ms' },
          staleWhileRevalidate: Object.fromEntries(GROUPS.map((group) => [group, '0s'])),
        },
        operations: { metrics: 'open' },
      },
    })
    t.teardown(() => edge.close())
    const isEjected = async () =>
      sumOf(samplesOf(await (await fetch(`${edge.operationsUrl}/metrics`)).text()), 'edge_node_ejected', {}) > 0

    await eventually(async () => {
      const replies = await Promise.all(STORED.map((path) => ask(edge, `GET ${path}`)))
      t.equal(replies.length, expected)
      const snapshot = await ask(edge, 'GET /agents?limit=4&sort=+id')
      return (
        replies.every(({ status }) => status === 200) && `${snapshot.headers.get('cache-status')}`.includes('snapshot')
      )
    })
    // The TTL is over then, and the requests above do not count for the five seconds after which the clients are bulk.
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS + 100))
    await door.hang('stopped')
    const began = performance.now()
    const waits: { readonly path: string; readonly ms: number; readonly cache: string; readonly status: number }[] = []
    const client = async (path: string) => {
      while (performance.now() - began < HANG_MS) {
        const start = performance.now()
        const { status, headers } = await ask(edge, `GET ${path}`)
        waits.push({ path, ms: performance.now() - start, status, cache: `${headers.get('cache-status')}` })
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    }
    const clients = Promise.all([...STORED, ...COMPUTED].map(client))
    await clients
    t.notOk(await isEjected(), 'the edge is not certain yet')
    const late = waits.filter(({ ms }) => ms > MAX_WAIT_MS)
    t.strictSame(late, [], `no read waits longer than ${MAX_WAIT_MS} ms`)
    const failed = waits.filter(({ status }) => status !== 200)
    t.strictSame(failed, [])
    const unmarked = waits.filter(
      ({ cache }) => !/detail=stale-while-revalidate|ttl=-\d+; detail=snapshot|ttl=\d/.test(cache),
    )
    t.strictSame(unmarked, [], 'stale responses are marked')
    for (const path of [...STORED, ...COMPUTED]) {
      const count = waits.filter((each) => each.path === path).length
      t.ok(count > 3, `${path}: ${count} responses`)
    }
    await door.recover()
    await eventually(async () =>
      /fwd=|; hit; ttl=\d+$/.test(`${(await ask(edge, 'GET /agents/001')).headers.get('cache-status')}`),
    )
  })
}
