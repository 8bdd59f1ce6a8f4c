/** A read that needs several calls is not begun if the limit per minute of the node does not permit all of them. */
import t from 'tap'
import { startSimulator } from '../../../../packages/simulator/src/index.ts'
import { edgeRequest } from '../../upstream/edge-request.ts'
import { clusterOf } from '../../upstream/fake-node.ts'
import { handlerOf } from '../../upstream/forwarding.ts'

/** A page so deep that the first call names few agents: each may have thousands of rows. */
const DEEP_PAGE = { offset: '4000', limit: '500' }

async function start(t: Parameters<typeof clusterOf>[0], perMinute: number, timeout: number) {
  const simulator = await startSimulator({ layout: 'v4', agents: 1_500, workers: 0, password: 'pass' })
  t.teardown(() => simulator.close())
  const cluster = clusterOf(t, '', { layout: 'v4', nodes: [...simulator.nodes], limits: { perMinute } })
  const handler = handlerOf(cluster, () => ({ timeout, slowTimeout: timeout }))
  const inventories = () => simulator.seen.filter(({ url }) => url.startsWith('/experimental')).length
  const read = async () => handler(edgeRequest('GET', '/experimental/syscollector/processes', { query: DEEP_PAGE }))
  return { read, inventories }
}

t.test('with room, all calls are sent', async (t) => {
  const { read, inventories } = await start(t, 0, 120_000)
  t.match(await read(), { errorNumber: 0 })
  t.ok(inventories() > 3, `${inventories()} calls`)
})

t.test('without room, it fails with the time to wait, after the call that shows how many it needs', async (t) => {
  const { read, inventories } = await start(t, 12, 20_000)
  await t.rejects(read(), { code: 921, message: /no room for \d+ calls/, headers: { 'retry-after': /^\d+$/ } })
  t.ok(inventories() <= 1, `${inventories()} calls`)
})
