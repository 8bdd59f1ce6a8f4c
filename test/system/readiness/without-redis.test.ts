/** Reads while Redis is stopped or stalled, with `cache.withoutRedis: stale`: from the local tier, marked, and no request waits for a call. */
import t from 'tap'
import { eventually } from '../../support/eventually.ts'
import { startRedis } from '../../support/redis.ts'
import { simulated } from '../../support/simulated.ts'
import { ask } from '../journeys/edge-mode.ts'

const READS = ['/agents/001', '/agents?limit=2', '/rules?limit=3', '/manager/info', '/manager/status', '/cluster/nodes']
/** Longer than the test may take for all its reads. */
const CALL_MS = 1000

for (const fault of ['killed', 'stalled'] as const) {
  t.test(`Redis is ${fault}`, async (t) => {
    const redis = await startRedis()
    t.teardown(() => redis.close())
    const settings = { cache: { redis: { url: redis.url }, withoutRedis: 'stale', ttl: { agents: '200ms' } } }
    const { simulator, edge } = await simulated(t, { agents: 3 }, { settings })
    for (const path of READS) t.equal((await ask(edge, `GET ${path}`)).status, 200)
    const fetched = performance.now()
    if (fault === 'killed') await redis.kill()
    else redis.pause()
    const cacheOf = async (path: string) => `${(await ask(edge, `GET ${path}`)).headers.get('cache-status')}`
    await eventually(async () => (await cacheOf('/rules?limit=3')).includes('detail=without-redis'))
    for (const { name } of simulator.nodes) await simulator.faults.set(name, { delay: CALL_MS })
    const began = performance.now()
    for (let round = 0; round < 20; round += 1) {
      for (const path of READS) t.match(await cacheOf(path), /hit; ttl=-?\d+; detail=without-redis/, path)
    }
    t.ok(performance.now() - began < 4000, 'at once')
    // Refreshed meanwhile: the first responses are older than that.
    await eventually(
      async () =>
        Number((await ask(edge, 'GET /manager/status')).headers.get('age')) * 1000 < performance.now() - fetched,
    )
    if (fault === 'stalled') redis.resume()
    else await redis.restart()
    await eventually(async () => !(await cacheOf('/rules?limit=3')).includes('without-redis'))
  })
}
