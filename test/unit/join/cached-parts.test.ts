import t from 'tap'
import type { EdgeRead } from '../../../src/core/request.ts'
import type { JoinedOrigin } from '../../../src/core/response.ts'
import {
  cacheStatusOf,
  edgeRequest,
  type FakeNodes,
  joinedResponse,
  jsonResponse,
  lifetimes,
  replica,
} from '../../support/edge-requests.ts'

const OS = 'GET /experimental/syscollector/os'
const respondWith = (nodes: FakeNodes, rest: Partial<JoinedOrigin> = {}) => {
  const origin = { clusterStatus: 'm;rtt=1;rows=0', ...rest }
  nodes.respond = () => joinedResponse({ items: [], totalItems: 0 }, origin)
}

t.test('Cluster-Status is stored with a joined response', async (t) => {
  const { read, nodes } = replica()
  respondWith(nodes)
  const response = { clusterStatus: 'm;rtt=1;rows=0' }
  t.match(await read(edgeRequest(OS)), { origin: { kind: 'fetched', response } })
  t.match(await read(edgeRequest(OS)), { origin: { kind: 'stored', response, status: { hit: true } } })
})

t.test('a partial joined response is not stored', async (t) => {
  const { read, nodes } = replica()
  respondWith(nodes, { completeness: 'partial' })
  await read(edgeRequest(OS))
  const again = await read(edgeRequest(OS))
  t.equal(cacheStatusOf(again), undefined)
  t.equal(nodes.calls, 2)
})

t.test('a joined response is as old as its oldest part', async (t) => {
  const { read, nodes, clock } = replica()
  respondWith(nodes, { oldestPartAge: 600, partsFreshFor: 400 })
  await read(edgeRequest(OS))
  clock.advance(300)
  const hit = await read(edgeRequest(OS))
  t.match(cacheStatusOf(hit), { hit: true, ttl: 100 })
  t.match(hit, { origin: { age: 900 } })
  clock.advance(200)
  t.match(cacheStatusOf(await read(edgeRequest(OS))), { detail: 'stale-while-revalidate' })
})

t.test(
  'a fresh response is fetched again if the request wants one that arrived later, and replaces the response of a node that fails',
  async (t) => {
    const { read, nodes, clock } = replica()
    const one = () => edgeRequest('GET /agents/:agent_id', { params: { agent_id: '001' } })
    await read(one())
    clock.advance(400)
    t.match(cacheStatusOf(await read({ ...one(), reuse: { arrivedWithin: 500 } })), { hit: true })
    t.match(cacheStatusOf(await read({ ...one(), reuse: { arrivedWithin: 300 } })), { fwd: 'stale', stored: true })
    t.equal(nodes.calls, 2)
    clock.advance(400)
    nodes.respond = () => jsonResponse({ error: 3020, message: 'no answer' })
    t.match(cacheStatusOf(await read({ ...one(), reuse: { arrivedWithin: 300 } })), {
      fwd: 'stale',
      detail: { error: 3020 },
    })
  },
)

t.test('each node has its own key, URL and tags for its part', (t) => {
  const { cache } = replica()
  const prepared = (rest: Partial<EdgeRead>) => {
    const found = cache.explained.resolveTarget(edgeRequest(OS, rest))
    if (typeof found === 'string') throw new Error(found)
    return found
  }
  const query = { limit: '1000' }
  const whole = prepared({ query })
  const first = prepared({ query, extent: { node: 'w1' } })
  const second = prepared({ query, extent: { node: 'w2' } })
  t.equal(new Set([whole.key, first.key, second.key]).size, 3, 'also with the same query')
  t.equal(first.info.url, '/experimental/syscollector/os?limit=1000&offset=0#w1')
  t.equal(whole.info.url, '/experimental/syscollector/os?limit=1000&offset=0')
  t.ok(['node:w1', 'node:*', 'collection:syscollector'].every((tag) => first.tags.includes(tag)))
  t.notOk(first.tags.includes('node:w2'))
  const own = cache.explained.resolveTarget(edgeRequest('GET /manager/info', { extent: { node: 'w1' } }))
  t.ok(
    typeof own !== 'string' && own.tags.includes('node:w1') && !own.tags.includes('node:m'),
    'the tag of the node itself, not of the master',
  )
  t.end()
})

t.test('a node that joins or leaves the cluster changes the key of joined responses only', (t) => {
  let nodes = [{ name: 'm' }, { name: 'w1' }]
  const { cache } = replica({ nodes: () => nodes, lifetimesOf: () => lifetimes })
  const keyOf = (id: `GET ${string}`, rest: Partial<EdgeRead> = {}) => {
    const found = cache.explained.resolveTarget(edgeRequest(id, rest))
    if (typeof found === 'string') throw new Error(found)
    return found.key
  }
  const several = 'GET /cluster/:node_ids/info'
  const all = () => [keyOf(OS), keyOf(several, { params: { node_ids: '*' } })]
  const others = () => [keyOf(OS, { extent: { node: 'w1' } }), keyOf('GET /agents')]
  const before = { all: all(), others: others() }
  t.strictSame(all(), before.all)
  nodes = [...nodes, { name: 'w2' }]
  for (const [at, key] of all().entries()) t.not(key, before.all[at])
  t.strictSame(others(), before.others)
  t.end()
})
