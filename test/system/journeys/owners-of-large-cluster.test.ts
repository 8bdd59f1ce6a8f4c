/** The owner table of a cluster whose agents take many slow calls: no request waits for all of them, and replicas share them. */
import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { startEdge } from '../../support/edge.ts'
import { eventually } from '../../support/eventually.ts'
import { startRedis } from '../../support/redis.ts'

const AGENTS = 12_000
const PAGES = 13
/** Of each call. All pages take three times as long as a request waits for the table. */
const DELAY_MS = 250
/** The pages of the table expire while it is read. */
const TTL_MS = 500

t.test('a request waits for the owner of its agent only, and another replica reads no page again', async (t) => {
  const simulator = await startSimulator({ agents: AGENTS, distributed: false, password: 'only-for-tests' })
  t.teardown(() => simulator.close())
  const redis = await startRedis()
  t.teardown(() => redis.close())
  const start = async () => {
    const edge = await startEdge({
      nodes: simulator.nodes,
      settings: {
        cluster: { distribution: 'edge', discover: false },
        cache: { ttl: { agents: `${TTL_MS}ms` }, redis: { url: redis.url } },
      },
    })
    t.teardown(() => edge.close())
    return edge
  }
  const [first, second] = [await start(), await start()]
  await simulator.faults.set('master', { delay: DELAY_MS })
  const pages = () =>
    simulator.seen.filter(({ url }) => url.includes('node_name%2Cstatus') && url.includes('limit=1000'))
  const lookups = () => pages().filter(({ url }) => url.includes('q=')).length
  const read = async (edge: typeof first, agent: string) => {
    const begun = performance.now()
    const headers = { authorization: edge.authorization('admin') }
    const answer = await fetch(`${edge.url}/syscollector/${agent}/os`, { headers })
    t.match(await answer.json(), { error: 0, data: { os: {} } }, agent)
    return performance.now() - begun
  }
  await read(first, '002')
  t.equal(lookups(), 1, 'the owner of the agent is looked up')
  t.ok(pages().length < PAGES, `answered after ${pages().length} calls`)
  await eventually(() => pages().length - lookups() === PAGES)
  // The response of the last page.
  await wait(2 * DELAY_MS)
  await read(first, '003')
  t.equal(lookups(), 1, 'the table has the other ones')
  await wait(2 * TTL_MS)
  await read(second, '005')
  t.equal(pages().length - lookups(), PAGES, 'the other replica has the pages of the first one')
  t.equal(lookups(), 1)
})
