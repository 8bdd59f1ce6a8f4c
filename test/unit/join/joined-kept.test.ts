import t from 'tap'
import type { EdgeResponse } from '../../../src/core/response.ts'
import { ask, caller, durations, good, type Nodes, recordOf, replica, settle, statusOf } from '../../support/asks.ts'

const OS = 'GET /experimental/syscollector/os'
const joined = (rest: Partial<Extract<EdgeResponse, { kind: 'json' }>> = {}): EdgeResponse => {
  const whole = good({ items: [], totalItems: 0 })
  if (whole.kind !== 'json') throw new Error('a file')
  return { ...whole, clusterStatus: 'm;rtt=1;rows=0', ...rest }
}
const says = (nodes: Nodes, rest: Parameters<typeof joined>[0] = {}) => {
  nodes.says = () => joined(rest)
}

t.test('what the nodes said is kept with a joined answer', async (t) => {
  const { read, nodes } = replica()
  says(nodes)
  t.match(await read(ask(OS)), { clusterStatus: 'm;rtt=1;rows=0' })
  const hit = await read(ask(OS))
  t.match(statusOf(hit), { hit: true })
  t.match(hit, { clusterStatus: 'm;rtt=1;rows=0' })
})

t.test('an answer that somebody is missing from, or stands in with what is old, is not kept', async (t) => {
  const { read, nodes } = replica()
  says(nodes, { partial: true })
  await read(ask(OS))
  const again = await read(ask(OS))
  t.equal(statusOf(again), undefined)
  t.equal(nodes.calls, 2)
})

t.test('a whole is as old as its oldest part', async (t) => {
  const { read, nodes, clock } = replica()
  says(nodes, { oldestPartAge: 600 })
  await read(ask(OS))
  clock.pass(300)
  const hit = await read(ask(OS))
  t.match(statusOf(hit), { hit: true, ttl: 100 })
  t.match(hit.kind === 'json' && hit.cached?.response, { age: 900 })
  clock.pass(200)
  t.match(statusOf(await read(ask(OS))), { detail: 'stale-while-revalidate' })
})

t.test('a whole that is made anew wants parts that are younger than itself', async (t) => {
  const { read, nodes, clock } = replica()
  says(nodes)
  await read(ask(OS))
  t.equal(nodes.asked[0]?.maxAge, undefined)
  clock.pass(1500)
  await read(ask(OS))
  await settle()
  t.equal(nodes.asked[1]?.maxAge, 1500)
})

t.test(
  'what is kept and fresh will not do where younger was wanted, but stands in for a node that fails',
  async (t) => {
    const { read, nodes, clock } = replica()
    const one = () => ask('GET /agents/:agent_id', { params: { agent_id: '001' } })
    await read(one())
    clock.pass(400)
    t.match(statusOf(await read({ ...one(), maxAge: 500 })), { hit: true })
    t.match(statusOf(await read({ ...one(), maxAge: 300 })), { fwd: 'stale', stored: true })
    t.equal(nodes.calls, 2)
    clock.pass(400)
    nodes.says = () => ({ kind: 'json', status: 200, body: Buffer.from('{"error":1017,"message":"not ready"}') })
    t.match(statusOf(await read({ ...one(), maxAge: 300 })), { fwd: 'stale', detail: 'stale-if-error' })
  },
)

t.test('each node has its part under a key, a line and tags of its own', (t) => {
  const { cache } = replica()
  const prepared = (rest: Parameters<typeof ask>[1]) => {
    const found = cache.resolveTarget(ask(OS, rest))
    if (typeof found === 'string') throw new Error(found)
    return found
  }
  const query = { limit: '1000' }
  const whole = prepared({ query })
  const first = prepared({ query, node: 'w1' })
  const second = prepared({ query, node: 'w2' })
  t.equal(new Set([whole.key, first.key, second.key]).size, 3, 'though the memory of them is by the same query')
  t.equal(first.info.url, '/experimental/syscollector/os?limit=1000&offset=0#w1')
  t.equal(whole.info.url, '/experimental/syscollector/os?limit=1000&offset=0')
  t.ok(['node:w1', 'node:*', 'collection:syscollector'].every((tag) => first.tags.includes(tag)))
  t.notOk(first.tags.includes('node:w2'))
  const own = cache.resolveTarget(ask('GET /manager/info', { node: 'w1' }))
  t.ok(
    typeof own !== 'string' && own.tags.includes('node:w1') && !own.tags.includes('node:m'),
    'its own, not the master',
  )
  t.end()
})

t.test('with a node that joins or leaves, a joined answer is another one; others stay', (t) => {
  let nodes = [{ name: 'm' }, { name: 'w1' }]
  const { cache } = replica({ nodes: () => nodes, lifetimesOf: () => durations })
  const keyOf = (id: string, rest: Parameters<typeof ask>[1] = {}) => {
    const found = cache.resolveTarget(ask(id, { caller, endpoint: recordOf(id), ...rest }))
    if (typeof found === 'string') throw new Error(found)
    return found.key
  }
  const several = 'GET /cluster/:node_ids/info'
  const all = () => [keyOf(OS), keyOf(several, { params: { node_ids: '*' } })]
  const others = () => [keyOf(OS, { node: 'w1' }), keyOf('GET /agents')]
  const before = { all: all(), others: others() }
  t.strictSame(all(), before.all)
  nodes = [...nodes, { name: 'w2' }]
  for (const [at, key] of all().entries()) t.not(key, before.all[at])
  t.strictSame(others(), before.others)
  t.end()
})
