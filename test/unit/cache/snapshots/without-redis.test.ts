/** Pages that no client requested before, while Redis is unreachable. */
import t from 'tap'
import { EdgeError } from '../../../../src/core/errors.ts'
import { edgeRequest, lifetimes, ManualClock } from '../../../support/edge-requests.ts'
import { storeInReach } from '../../../support/store-in-reach.ts'
import { agents, settings, snapshotReplica } from './collection-node.ts'

/** Some of the rows have the same name, so that a sort by it leaves their order open. */
const rows = agents(30).map((row, at) => ({ ...row, name: `agent-${at % 7}` }))

async function cutOff(withoutRedis: 'call' | 'stale', isOnly = false) {
  const clock = new ManualClock()
  const { store, cut } = storeInReach(clock.read)
  const edge = snapshotReplica(rows, {
    store,
    clock: clock.read,
    lifetimesOf: () => ({ ...lifetimes, outage: 3_600_000, ...(withoutRedis === 'stale' && { withoutRedis: 60_000 }) }),
    settings: { snapshots: settings },
    isOnlyReplica: () => isOnly,
  })
  await edge.warm()
  await edge.get({ sort: '-id', limit: '1' })
  cut()
  const { calls } = edge.nodes
  return { ...edge, clock, callsSince: () => edge.nodes.calls - calls }
}

const fail = () => {
  throw new EdgeError(924)
}

t.test('stale: they are computed and marked, and those with ties come from the node', async (t) => {
  const { get, direct, callsSince, clock } = await cutOff('stale')
  clock.advance(5000)
  const page = await get({ sort: '-id', limit: '3', offset: '2' })
  t.match(page.status, { hit: true, detail: 'without-redis' })
  t.strictSame(page.body, direct({ sort: '-id', limit: '3', offset: '2' }))
  t.equal(callsSince(), 0)
  const tied = await get({ sort: 'name', limit: '3' })
  t.strictSame(tied.body, direct({ sort: 'name', limit: '3' }))
  t.equal(callsSince(), 1)
})

t.test(
  'stale: while no node answers, those with ties are computed too, for as long as an outage may last',
  async (t) => {
    const { get, nodes, clock } = await cutOff('stale')
    nodes.respond = fail
    clock.advance(3_000_000)
    t.match((await get({ sort: 'name', limit: '3' })).status, { hit: true, detail: 'without-redis' })
    t.match((await get({ q: 'id>5' })).status, { hit: true, detail: 'without-redis' })
  },
)

t.test('stale: no page is computed after a write of this replica', async (t) => {
  const { get, write, callsSince, node, direct } = await cutOff('stale')
  await write(edgeRequest('DELETE /agents/:agent_id', { params: { agent_id: '001' } }))
  node.rows = node.rows.slice(1)
  t.strictSame((await get({ sort: '-id', limit: '3' })).body, direct({ sort: '-id', limit: '3' }))
  t.equal(callsSince(), 2, 'the write and the read')
})

t.test('call: nothing is computed', async (t) => {
  const { get, nodes, callsSince } = await cutOff('call')
  await get({ sort: '-id', limit: '3' })
  t.equal(callsSince(), 1)
  nodes.respond = fail
  await t.rejects(get({ sort: '-id', limit: '4' }), { code: 924 })
})

t.test(
  'call, the only replica: fresh snapshots are as good as ever, and stale ones serve while nodes fail',
  async (t) => {
    const { get, nodes, callsSince, clock } = await cutOff('call', true)
    t.match((await get({ sort: '-id', limit: '3' })).status, { hit: true, detail: 'snapshot' })
    t.equal(callsSince(), 0)
    clock.advance(2000)
    await get({ sort: '-id', limit: '4' })
    t.equal(callsSince(), 1, 'a stale snapshot serves nothing while the node answers')
    nodes.respond = fail
    t.match((await get({ sort: '-id', limit: '5' })).status, { detail: 'outage' })
  },
)
