import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { forward } from '../../../src/upstream/forward.ts'
import { createKinds } from '../../../src/upstream/kinds.ts'
import { startEdge } from '../../support/edge.ts'
import { edgeRequest } from '../../support/edge-requests.ts'
import { eventually } from '../../support/eventually.ts'
import { startRedis } from '../../support/redis.ts'
import { simulated } from '../../support/simulated.ts'
import { together } from '../../support/together.ts'
import { edgeOf, LIST_INTERVAL_MS } from './replicas.ts'

const test = together(t, 2)

test('the list that a client requests postpones that of the edge, if it is the whole list', async (t) => {
  const { start, simulator } = await edgeOf(t)
  const { cluster } = await start()
  const { call, view, nodeList } = cluster
  const ports = { call, view, kindOf: createKinds('manager'), limits: () => ({ timeout: 20_000, slowTimeout: 20_000 }) }
  const handler = forward({ ...ports, onNodeList: (...observed) => nodeList.observe(...observed) })
  const ownLists = () => simulator.seen.filter(({ url }) => url.startsWith('/cluster/nodes?limit=1000')).length
  /** Lists as a client for two intervals. Returns the longest time between two lists, in milliseconds. */
  const listForTwoIntervals = async () => {
    let [last, longest] = [performance.now(), 0]
    for (const end = last + 2 * LIST_INTERVAL_MS; last < end; await wait(50)) {
      await handler(edgeRequest('GET /cluster/nodes', { query: { sort: '-name' } }))
      longest = Math.max(longest, performance.now() - last)
      last = performance.now()
    }
    return longest
  }
  // On a busy machine the client may be late, and the edge then reads the list itself.
  for (;;) {
    const before = ownLists()
    const isLate = (await listForTwoIntervals()) > LIST_INTERVAL_MS / 2
    if (isLate && ownLists() > before) continue
    t.equal(ownLists(), before)
    break
  }
  for (const query of [{ limit: '1' }, { type: 'worker' }, { search: 'master' }, { select: 'name' }]) {
    const seen = ownLists()
    const known = view.nodes()
    await eventually(async () => {
      await handler(edgeRequest('GET /cluster/nodes', { query }))
      return ownLists() > seen
    })
    t.pass(`${Object.keys(query)}: the edge reads the list itself`)
    t.strictSame(view.nodes(), known)
  }
})

test('a node that a client lists is known to all replicas, long before the next list is due', async (t) => {
  const redis = await startRedis()
  t.teardown(() => redis.close())
  const settings = { cache: { redis: { url: redis.url } } }
  const { simulator, edge: one } = await simulated(t, { workers: 1, agents: 1 }, { settings })

  const other = await startEdge({ nodes: simulator.nodes, settings })
  t.teardown(() => other.close())
  const { name } = await simulator.join()
  const headers = { authorization: one.authorization('admin') }
  const knows = async ({ operationsUrl }: typeof one) =>
    JSON.stringify(await (await fetch(`${operationsUrl}/api/nodes`, { headers })).json()).includes(name)
  t.notOk((await knows(one)) || (await knows(other)))
  const seen = simulator.seen.length
  await (await fetch(`${one.url}/cluster/nodes`, { headers })).text()
  t.ok(await knows(one))
  await eventually(() => knows(other))
  const lists = simulator.seen.slice(seen).filter(({ url }) => url.startsWith('/cluster/nodes'))
  t.equal(lists.length, 1)
})
