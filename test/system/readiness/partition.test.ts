/**
 * Packets between one replica and Redis vanish, without a reset, while another replica continues; and a link that takes
 * 300 ms. What the replica that is cut off serves, by `cache.withoutRedis` and `replica.only`.
 */
import t, { type Test } from 'tap'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { startFaultProxy } from '../../faults/proxy.ts'
import { type Settings, startEdge } from '../../support/edge.ts'
import { eventually } from '../../support/eventually.ts'
import { type RedisServer, startRedis } from '../../support/redis.ts'
import { ask } from '../journeys/edge-mode.ts'

const PASSWORD = 'only-for-tests'
const GROUPS = '/agents/groups'

async function start(
  t: Test,
  settings: Settings,
  link?: Parameters<Awaited<ReturnType<typeof startFaultProxy>>['set']>[0],
) {
  const redis: RedisServer = await startRedis()
  t.teardown(() => redis.close())
  const proxy = await startFaultProxy(Number(new URL(redis.url).port))
  t.teardown(() => proxy.close())
  if (link !== undefined) await proxy.set(link)
  const simulator = await startSimulator({ agents: 3, password: PASSWORD })
  t.teardown(() => simulator.close())
  const open = async (url: string) => {
    const { cache, ...others } = settings as { readonly cache?: object }
    const edge = await startEdge({
      nodes: simulator.nodes,
      password: PASSWORD,
      settings: { ...others, cache: { ...cache, redis: { url } } },
    })
    t.teardown(() => edge.close())
    return edge
  }
  const cut = () => proxy.set({ kind: 'link', toTarget: { loss: 1 }, toClient: { loss: 1 } })
  const restore = () => proxy.set({ kind: 'pass' })
  return { open, cut, restore, urls: { own: `redis://127.0.0.1:${proxy.port}`, direct: redis.url } }
}

const cacheOf = ({ headers }: { readonly headers: Headers }) => `${headers.get('cache-status')}`

for (const withoutRedis of ['call', 'stale'] as const) {
  t.test(`one of two replicas is cut off, cache.withoutRedis: ${withoutRedis}`, async (t) => {
    const { open, cut, restore, urls } = await start(t, { cache: { withoutRedis, ttl: { agents: '60s' } } })
    const lonely = await open(urls.own)
    const other = await open(urls.direct)
    const read = async () => {
      const reply = await ask(lonely, `GET ${GROUPS}`)
      return { ...reply, hasNew: JSON.stringify(reply.body).includes('"new-one"'), cache: cacheOf(reply) }
    }
    await eventually(async () => (await read()).cache.includes('; hit'))
    await cut()
    const began = performance.now()
    t.equal((await ask(other, 'PUT /agents/groups/new-one')).status, 200, 'the other replica writes')
    t.ok(performance.now() - began < 20_000, 'after the lease of the one that is cut off')
    const during = await read()
    t.equal(during.status, 200)
    t.ok(during.hasNew || (withoutRedis === 'stale' && during.cache.includes('detail=without-redis')), during.cache)
    if (withoutRedis === 'stale') t.match(during.cache, /detail=without-redis/)
    else t.notMatch(during.cache, /; hit/)
    t.not((await ask(lonely, 'PUT /agents/groups/refused')).status, 200, 'it writes nothing itself')
    await restore()
    await eventually(async () => {
      const { cache, hasNew } = await read()
      const isMarked = cache.includes('without-redis')
      if (!isMarked) t.ok(hasNew, `with Redis again: ${cache}`)
      return !isMarked && cache.includes('; hit')
    })
  })
}

t.test('replica.only: fresh responses are served unmarked, and new ones are stored', async (t) => {
  const { open, cut, urls } = await start(t, {
    replica: { only: true },
    cache: { ttl: { agents: '60s', rules: '60s' } },
  })
  const edge = await open(urls.own)
  await eventually(async () => cacheOf(await ask(edge, `GET ${GROUPS}`)).includes('; hit'))
  await cut()
  const verbose = async () => (await fetch(`${edge.operationsUrl}/readyz?verbose`)).text()
  await eventually(async () => /redis(?:Unreachable|Slow)/.test(await verbose()))
  const reply = await ask(edge, `GET ${GROUPS}`)
  t.match(cacheOf(reply), /; hit; ttl=\d+$/)
})

t.test('a link of 300 ms: the replica starts, and answers', async (t) => {
  const slow = { kind: 'link', toTarget: { delay: 150 }, toClient: { delay: 150 } } as const
  const { open, urls } = await start(t, {}, slow)
  const began = performance.now()
  const edge = await open(urls.own)
  t.ok(performance.now() - began < 30_000, `after ${Math.round(performance.now() - began)} ms`)
  t.equal((await ask(edge, 'GET /agents?limit=2')).status, 200)
  t.equal((await fetch(`${edge.operationsUrl}/readyz`)).status, 200)
})
