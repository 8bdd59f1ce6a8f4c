import t from 'tap'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { startEdge } from '../../support/edge.ts'
import { eventually } from '../../support/eventually.ts'
import { startRedis } from '../../support/redis.ts'

t.test('a write through a replica whose cache is off invalidates the caches of the others', async (t) => {
  const redis = await startRedis()
  const simulator = await startSimulator({ workers: 0, agents: 3, username: 'edge', password: 'only-for-tests' })
  const start = (enabled: boolean) =>
    startEdge({
      nodes: simulator.nodes,
      settings: { cache: { enabled, redis: { url: redis.url }, ttl: { agents: '10m' } } },
    })
  const [on, off] = await Promise.all([start(true), start(false)])
  t.teardown(async () => {
    await Promise.all([on.close(), off.close()])
    await Promise.all([simulator.close(), redis.close()])
  })
  const ask = async (edge: typeof on, method: string, path: string) => {
    const reply = await fetch(`${edge.url}${path}`, {
      method,
      headers: { authorization: edge.authorization('admin') },
    })
    const { error, data } = (await reply.json()) as { error: number; data?: unknown }
    return { cache: reply.headers.get('cache-status'), error, data: JSON.stringify(data) }
  }
  const path = '/agents/groups'
  await ask(on, 'GET', path)
  t.match(await ask(on, 'GET', path), { cache: /hit/ })
  t.equal((await ask(off, 'PUT', '/agents/groups/fresh')).error, 0)
  t.match(await ask(on, 'GET', path), { cache: /fwd=uri-miss/, data: /fresh/ })
  t.match(await ask(off, 'GET', path), { cache: null, data: /fresh/ }, 'it keeps nothing itself')
  // The index is that of all replicas: it has a new response some milliseconds after it was stored.
  await eventually(async () => /agents.groups/.test((await ask(off, 'GET', '/cache')).data))
  await ask(off, 'DELETE', '/cache')
  t.match(await ask(on, 'GET', path), { cache: /fwd=uri-miss/ })
})
