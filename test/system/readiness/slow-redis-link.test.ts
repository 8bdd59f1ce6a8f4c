/** A link to Redis that takes 300 ms: the replica starts, listens and answers. */
import t from 'tap'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { startFaultProxy } from '../../faults/proxy.ts'
import { startEdge } from '../../support/edge.ts'
import { startRedis } from '../../support/redis.ts'

const MAX_START_MS = 10_000

t.test('a replica whose link to Redis takes 300 ms starts and listens', async (t) => {
  const redis = await startRedis()
  t.teardown(() => redis.close())
  const proxy = await startFaultProxy(redis.port)
  t.teardown(() => proxy.close())
  const delay = { delay: 150 }
  await proxy.set({ kind: 'link', toTarget: delay, toClient: delay })
  const simulator = await startSimulator({ agents: 3, workers: 1, password: 'only-for-tests' })
  t.teardown(() => simulator.close())
  const began = performance.now()
  const edge = await startEdge({
    nodes: simulator.nodes,
    settings: { cache: { redis: { url: `redis://127.0.0.1:${proxy.port}`, timeout: '50ms' } } },
  })
  t.teardown(() => edge.close())
  const took = performance.now() - began
  t.ok(took < MAX_START_MS, `started after ${took.toFixed(0)} ms`)
  const headers = { authorization: edge.authorization('admin') }
  const response = await fetch(`${edge.url}/agents`, { headers })
  t.equal(response.status, 200)
  t.equal((await fetch(`${edge.operationsUrl}/readyz`)).status, 200)
})
