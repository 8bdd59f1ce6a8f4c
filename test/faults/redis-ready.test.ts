import t from 'tap'
import { startSimulator } from '../../src/simulator/index.ts'
import { startEdge } from '../support/edge.ts'
import { startRedis } from '../support/redis.ts'

t.test('a Redis that hangs, that is gone, and that was never there, leaves the edge ready', async (t) => {
  const simulator = await startSimulator({ workers: 0, agents: 2, username: 'edge', password: 'only-for-tests' })
  const redis = await startRedis()
  // A busy machine must not make Redis count as away before it is.
  const start = () =>
    startEdge({ nodes: simulator.nodes, settings: { cache: { redis: { url: redis.url, timeout: '1s' } } } })
  const edge = await start()
  t.teardown(async () => {
    redis.resume()
    await edge.close()
    await redis.close()
    await simulator.close()
  })
  const ready = async (of = edge) => (await fetch(`${of.operationsUrl}/readyz`)).status
  const answered = async (of = edge) => {
    const { status, headers } = await fetch(`${of.url}/agents/000`, {
      headers: { authorization: of.authorization('admin') },
    })
    return { status, cache: headers.get('cache-status') ?? '' }
  }
  t.equal(await ready(), 200)
  t.match(await answered(), { status: 200, cache: /; stored/ })
  redis.pause()
  // Longer than near copies are trusted.
  for (let turn = 0; turn < 6; turn += 1) {
    await new Promise((done) => setTimeout(done, 500))
    t.equal(await ready(), 200)
    t.match(await answered(), { status: 200 })
  }
  t.notMatch((await answered()).cache, /; hit/, 'as if nothing was kept')
  redis.resume()
  await redis.kill()
  t.equal(await ready(), 200)
  t.match(await answered(), { status: 200 })
  const later = await start()
  t.teardown(() => later.close())
  t.equal(await ready(later), 200)
  t.match(await answered(later), { status: 200 })
})
