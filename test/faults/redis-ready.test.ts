import t from 'tap'
import { startSimulator } from '../../packages/simulator/src/index.ts'
import { startEdge } from '../support/edge.ts'
import { eventually } from '../support/eventually.ts'
import { startRedis } from '../support/redis.ts'

t.test('the edge is ready if Redis hangs, is killed, or was never reachable', async (t) => {
  const simulator = await startSimulator({ workers: 0, agents: 2, username: 'edge', password: 'only-for-tests' })
  const redis = await startRedis()
  // On a busy machine Redis must not count as unreachable too early.
  const start = () => startEdge({ nodes: simulator.nodes, settings: { cache: { redis: { url: redis.url } } } })
  const edge = await start()
  t.teardown(async () => {
    redis.resume()
    await edge.close()
    await redis.close()
    await simulator.close()
  })
  const ready = async (of = edge) => (await fetch(`${of.operationsUrl}/readyz`)).status
  const read = async (of = edge) => {
    const { status, headers } = await fetch(`${of.url}/agents/000`, {
      headers: { authorization: of.authorization('admin') },
    })
    return { status, cache: headers.get('cache-status') ?? '' }
  }
  t.equal(await ready(), 200)
  // The edge starts without waiting for Redis: on a busy machine the first lookups come before the connection.
  await eventually(async () => /; stored/.test((await read()).cache))
  redis.pause()
  // Until the lease of the local tier has expired.
  await eventually(async () => {
    const [readiness, { status, cache }] = [await ready(), await read()]
    if (readiness !== 200 || status !== 200) throw new Error(`ready ${readiness}, read ${status}`)
    return !/; hit/.test(cache)
  })
  redis.resume()
  await redis.kill()
  t.equal(await ready(), 200)
  t.match(await read(), { status: 200 })
  const later = await start()
  t.teardown(() => later.close())
  t.equal(await ready(later), 200)
  t.match(await read(later), { status: 200 })
})
