import t from 'tap'
import { EdgeError } from '../../../../src/core/errors.ts'
import { lifetimes } from '../../../support/edge-requests.ts'
import { agents, snapshotReplica } from './collection-node.ts'

t.test('while nodes fail, a response from an expired snapshot is marked as stale', async (t) => {
  const edge = snapshotReplica(agents(100))
  await edge.warm()
  edge.nodes.respond = () => {
    throw new EdgeError(924)
  }
  // The freshness lifetime and the time in which it is served during a refresh have passed.
  edge.clock.advance(5000)
  t.match((await edge.get({ sort: 'name' })).status, { detail: { error: 924 } }, 'the first query too')
  const { body, status, stored } = await edge.get({ sort: '-name' })
  t.strictSame(body, edge.direct({ sort: '-name' }))
  t.match(status, { detail: { error: Number } })
  t.notOk(status?.stored)
  t.ok((status?.ttl ?? 0) < 0)
  t.ok((stored?.age ?? 0) >= 5000)
})

t.test('while nodes fail, the stored response of the URL itself is served', async (t) => {
  const edge = snapshotReplica(agents(100))
  await edge.warm()
  const { body } = await edge.get({ sort: 'name' })
  edge.nodes.respond = () => {
    throw new EdgeError(924)
  }
  edge.clock.advance(5000)
  for (let round = 0; round < 3; round += 1) {
    const stale = await edge.get({ sort: 'name' })
    t.strictSame(stale.body, body)
    t.match(stale.status, { detail: { error: Number } })
    edge.clock.advance(1100)
  }
})

t.test(
  'in an outage, pages that were never requested are computed, also where the rows do not determine the order',
  async (t) => {
    const outage = 3_600_000
    const edge = snapshotReplica(agents(100), { lifetimesOf: () => ({ ...lifetimes, outage }) })
    await edge.warm()
    edge.nodes.respond = () => {
      throw new EdgeError(924)
    }
    edge.clock.advance(outage / 2)
    for (const query of [
      { sort: '-name' },
      { limit: '3', offset: '50' },
      { status: 'Active', limit: '5' },
      { sort: '+status', limit: '7' },
    ]) {
      const { body, status, stored } = await edge.get(query)
      t.match(status, { detail: 'outage' })
      t.ok((stored?.age ?? 0) >= outage / 2)
      t.strictSame(body, edge.direct(query), 'ties are in the order of the snapshot')
    }
    edge.clock.advance(outage / 2 + 2000)
    await t.rejects(edge.get({ sort: '-name' }), { code: 924 })
  },
)
