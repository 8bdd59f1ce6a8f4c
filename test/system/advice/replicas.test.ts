/** The advice of a replica that shares its cache with another one. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import type { Advice } from '../../../src/admin/console/advice-types.ts'
import { startEdge } from '../../support/edge.ts'
import { eventually } from '../../support/eventually.ts'
import { startRedis } from '../../support/redis.ts'

t.test('a replica sees the fetches of another one, and adds its counts', async (t) => {
  const redis = await startRedis()
  t.teardown(() => redis.close())
  const simulator = await startSimulator({ agents: 3, workers: 0, password: 'only-for-tests' })
  t.teardown(() => simulator.close())
  const cache = { redis: { url: redis.url }, ttl: { rules: '800ms' }, snapshots: { groups: [] } }
  const start = async () => {
    const edge = await startEdge({ nodes: simulator.nodes, settings: { cache } })
    t.teardown(() => edge.close())
    return edge
  }
  const edges = [await start(), await start()]
  const headers = { authorization: edges[0]?.authorization('admin') ?? '' }
  const before = simulator.seen.length
  for (let turn = 0; turn < 160; turn++) {
    // Two URLs, each through both replicas.
    const edge = edges[(turn >> 1) % 2]
    await (await fetch(`${edge?.url}/rules?limit=1&offset=${turn % 2}`, { headers })).text()
    await sleep(50)
  }
  const calls = simulator.seen.slice(before).filter(({ url }) => url.startsWith('/rules')).length
  const read = async (): Promise<Advice> =>
    (await fetch(`${edges[0]?.operationsUrl}/api/advice?set=cache.ttl.rules=4s`, { headers })).json() as Promise<Advice>
  await eventually(async () => (await read()).lifetimes[0]?.reads === 160)
  const { replicas, lifetimes, whatIf } = await read()
  const { fetches = 0, model } = lifetimes[0] ?? {}
  t.comment(JSON.stringify({ calls, fetches, model, whatIf: whatIf?.fetches }))
  t.equal(replicas, 2)
  t.equal(fetches, calls, 'the fetches of both replicas are all calls')
  const { observedFetches = 0, fetches: modelled = 0 } = model ?? {}
  t.ok(Math.abs(observedFetches - calls) <= 0.2 * calls, `this replica sees ${observedFetches} of ${calls} fetches`)
  t.ok(Math.abs(modelled - calls) <= 0.25 * calls, `the model gives ${modelled} for them`)
  t.ok((whatIf?.fetches.tried ?? 0) < 0.5 * calls)
})
