/** Reads while Redis is stopped or stalled, with `cache.withoutRedis: stale`: from the local tier, marked, without calls. */
import t from 'tap'
import { eventually } from '../../support/eventually.ts'
import { startRedis } from '../../support/redis.ts'
import { simulated } from '../../support/simulated.ts'
import { ask } from '../journeys/edge-mode.ts'

const READS = ['/agents/001', '/agents?limit=2', '/rules?limit=3', '/manager/info']

for (const fault of ['killed', 'stalled'] as const) {
  t.test(`Redis is ${fault}`, async (t) => {
    const redis = await startRedis()
    t.teardown(() => redis.close())
    const settings = { cache: { redis: { url: redis.url }, withoutRedis: 'stale', ttl: { agents: '200ms' } } }
    const { simulator, edge } = await simulated(t, { agents: 3 }, { settings })
    for (const path of READS) t.equal((await ask(edge, `GET ${path}`)).status, 200)
    if (fault === 'killed') await redis.kill()
    else redis.pause()
    const cacheOf = async (path: string) => `${(await ask(edge, `GET ${path}`)).headers.get('cache-status')}`
    await eventually(async () => (await cacheOf('/rules?limit=3')).includes('detail=without-redis'))
    const calls = simulator.seen.length
    const began = performance.now()
    for (let round = 0; round < 20; round += 1) {
      for (const path of READS) t.match(await cacheOf(path), /hit; ttl=-?\d+; detail=without-redis/, path)
    }
    t.ok(performance.now() - began < 4000, 'at once')
    const isOfReads = ({ url }: { readonly url: string }) => READS.some((path) => url.startsWith(path))
    t.strictSame(simulator.seen.slice(calls).filter(isOfReads), [], 'no node is called for them')
    if (fault === 'stalled') redis.resume()
    else await redis.restart()
    await eventually(async () => !(await cacheOf('/rules?limit=3')).includes('without-redis'))
  })
}
