import t from 'tap'
import { EdgeError } from '../../../../src/core/errors.ts'
import { createLatch, success } from '../../../support/edge-requests.ts'
import { agents, settings, snapshotReplica } from './collection-node.ts'

t.test('one query that repeats builds no snapshot', async (t) => {
  const edge = snapshotReplica(agents(100))
  await edge.get({ limit: '5' })
  edge.clock.advance(5000)
  await edge.get({ limit: '5' })
  await edge.get({ limit: '5' })
  await edge.settleBuild()
  t.notOk(edge.nodes.requests.some(({ query }) => query.limit === '1000'))
})

t.test('one query in several spellings builds no snapshot', async (t) => {
  const edge = snapshotReplica(agents(100))
  await Promise.all([{ limit: '5' }, { limit: '5', offset: '0' }, { limit: '05' }].map(edge.get))
  await edge.settleBuild()
  t.equal(edge.nodes.calls, 1)
})

t.test('many different queries at once share one build', async (t) => {
  const edge = snapshotReplica(agents(100))
  await edge.get({ limit: '5' })
  await Promise.all(Array.from({ length: 20 }, (_, at) => edge.get({ limit: `${at + 10}` })))
  t.equal(edge.nodes.requests.filter(({ query }) => query.limit === '1000').length, 1)
  t.equal(edge.nodes.calls, 2)
})

t.test('no client waits for a snapshot of several calls', async (t) => {
  const edge = snapshotReplica(agents(3000))
  await edge.get({ limit: '5' })
  await edge.get({ limit: '4' })
  const latch = createLatch()
  const { respond } = edge.nodes
  edge.nodes.respond = async (request, call) => {
    if (request.query.limit === '1000') await latch.opened
    return respond(request, call)
  }
  const { body } = await edge.get({ limit: '6' })
  t.strictSame(body, edge.direct({ limit: '6' }))
  latch.open()
  await edge.settleBuild()
  t.match((await edge.get({ limit: '7' })).status, { detail: 'snapshot' })
})

t.test('a walk through all pages takes one call, those of the snapshot, and few more', async (t) => {
  const edge = snapshotReplica(agents(5000))
  const ids: unknown[] = []
  for (let offset = 0; offset < 5000; offset += 100) {
    const query = { limit: '100', offset: `${offset}` }
    const { body } = await edge.get(query)
    t.strictSame(body, edge.direct(query))
    const { items } = body.data as { items: { id: string }[] }
    ids.push(...items.map(({ id }) => id))
  }
  t.equal(new Set(ids).size, 5000)
  t.equal(edge.nodes.calls, 1 + 5, `${edge.nodes.calls} calls for 50 pages`)
})

t.test('pages that are no walk end the builds that they do not pay', async (t) => {
  const edge = snapshotReplica(agents(5000))
  await edge.get({ limit: '5' })
  for (let at = 0; at < 8; at += 1) {
    await edge.get({ limit: '1', offset: '1' })
    await edge.settleBuild()
    edge.clock.advance(60_000)
  }
  const builds = edge.nodes.requests.filter(({ query }) => query.limit === '1000').length / 5
  t.ok(builds > 0 && builds <= 3, `${builds} builds for 8 requests`)
})

t.test('a slow build over an expired snapshot is the only one', async (t) => {
  const edge = snapshotReplica(agents(5000))
  const { respond } = edge.nodes
  const isOfBuild = ({ query }: { readonly query: Readonly<Record<string, string>> }) => query.limit === '1000'
  await edge.get({ limit: '5' })
  await edge.get({ limit: '1', offset: '1' })
  await edge.settleBuild()
  edge.clock.advance(60_000)
  const latch = createLatch()
  edge.nodes.respond = async (request, call) => {
    if (isOfBuild(request)) await latch.opened
    return respond(request, call)
  }
  // Both are late, and answered with what has expired.
  for (let count = 0; count < 2; count += 1)
    t.match((await edge.get({ limit: '1', offset: '1' })).status, { detail: 'stale-while-revalidate' })
  latch.open()
  await edge.settleBuild()
  t.equal(edge.nodes.requests.filter(isOfBuild).length, 2 * 5)
})

t.test('a walk that a snapshot would not save builds none', async (t) => {
  const edge = snapshotReplica(agents(5000))
  for (const offset of ['0', '900', '1800', '2700']) await edge.get({ limit: '900', offset })
  await edge.settleBuild()
  t.equal(edge.nodes.calls, 4)
})

t.test('a snapshot is not built if it takes more calls than it saves', async (t) => {
  const edge = snapshotReplica(agents(5000))
  const builds = () => edge.nodes.requests.filter(({ query }) => query.limit === '1000').length
  for (const limit of ['5', '6', '7', '8']) {
    await edge.get({ limit })
    await edge.settleBuild()
  }
  t.equal(builds(), 0, 'four queries, and five calls')
  await edge.get({ limit: '9' })
  await edge.settleBuild()
  t.equal(builds(), 5)
  t.match((await edge.get({ sort: 'name' })).status, { detail: 'snapshot' })
})

t.test('snapshots that took more calls than they answered queries are not built again for ten minutes', async (t) => {
  const edge = snapshotReplica(agents(3000))
  const builds = () => edge.nodes.requests.filter(({ query }) => query.limit === '1000').length / 3
  const ask = async () => {
    for (const limit of ['5', '6', '7']) {
      await edge.get({ limit })
      await edge.settleBuild()
    }
  }
  const expire = () => edge.clock.advance(60_000)
  for (const built of [1, 2, 3]) {
    await ask()
    t.equal(builds(), built, 'three queries want it')
    expire()
  }
  await ask()
  t.equal(builds(), 3, 'no query was answered from the three before')
  edge.clock.advance(600_000)
  await ask()
  t.equal(builds(), 4)
  for (const sort of ['name', '-name', 'id', '-id']) await edge.get({ sort })
  expire()
  await ask()
  t.equal(builds(), 5, 'the last one paid')
})

t.test('a snapshot of several calls is not refreshed for fewer queries than calls', async (t) => {
  const edge = snapshotReplica(agents(5000))
  await edge.warm()
  const { calls } = edge.nodes
  // Two lifetimes later, one query: the snapshot of before is stale, and may be served while it is refreshed.
  edge.clock.advance(1000)
  await edge.get({ sort: 'name' })
  await edge.settleBuild()
  edge.clock.advance(990)
  await edge.get({ sort: '-name' })
  await edge.settleBuild()
  const rebuilt = edge.nodes.calls - calls
  t.ok(rebuilt <= 5, `${rebuilt} calls`)
  edge.clock.advance(3000)
  await edge.get({ sort: 'id' })
  await edge.get({ sort: '-id' })
  await edge.settleBuild()
  t.equal(edge.nodes.calls - calls - rebuilt, 2, 'the queries themselves')
})

t.test('nodes without idle capacity are not asked for a snapshot of several calls', async (t) => {
  const edge = snapshotReplica(agents(3000), { hasIdleCapacity: () => false })
  await edge.warm()
  await edge.get({ sort: 'name' })
  t.notOk(edge.nodes.requests.some(({ query }) => query.limit === '1000'))
})

for (const [what, disturb] of Object.entries({
  'a total that changes': (items: unknown[], offset: number) => ({ items, totalItems: offset === 0 ? 2500 : 2499 }),
  'a page with too few rows': (items: unknown[], offset: number) => ({
    items: offset === 0 ? items.slice(1) : items,
    totalItems: 2500,
  }),
  'a row that is on two pages': (items: unknown[], offset: number) => ({
    items: offset === 0 ? items : [agents(1)[0], ...items.slice(1)],
    totalItems: 2500,
  }),
})) {
  t.test(`${what} makes no snapshot`, async (t) => {
    const edge = snapshotReplica(agents(2500))
    const { respond } = edge.nodes
    edge.nodes.respond = async (request, call) => {
      if (request.query.limit !== '1000') return respond(request, call)
      const offset = Number(request.query.offset ?? 0)
      return success(disturb(agents(2500).slice(offset, offset + 1000), offset))
    }
    await edge.warm()
    const { calls } = edge.nodes
    const { body, status } = await edge.get({ sort: 'name', limit: '3' })
    t.strictSame(body, edge.direct({ sort: 'name', limit: '3' }))
    t.match(status, { fwd: 'uri-miss' })
    t.equal(edge.nodes.calls, calls + 1, 'and no second attempt')
  })
}

t.test('a request that waits for a snapshot is answered by the node if the snapshot cannot be fetched', async (t) => {
  for (const code of [922, 924, 925, 926] as const) {
    const edge = snapshotReplica(agents(100))
    const { respond } = edge.nodes
    edge.nodes.respond = async (request, call) => {
      if (request.query.limit === '1000') throw new EdgeError(code)
      return respond(request, call)
    }
    await edge.get({ limit: '5' })
    for (const limit of ['6', '7']) {
      const { body, status } = await edge.get({ limit })
      t.strictSame(body, edge.direct({ limit }))
      t.match(status, { fwd: 'uri-miss', detail: undefined })
    }
    t.equal(edge.nodes.calls, 4, 'one attempt, and three queries')
  }
})

t.test('a collection of too many rows or bytes has no snapshot', async (t) => {
  for (const limits of [{ maxRows: 50 }, { maxBytes: 500 }]) {
    const edge = snapshotReplica(agents(100), { settings: { snapshots: { ...settings, ...limits } } })
    await edge.warm()
    t.not((await edge.get({ sort: 'name' })).status?.detail, 'snapshot')
  }
})

t.test('numbers that JavaScript cannot represent make no snapshot', async (t) => {
  const edge = snapshotReplica(agents(3))
  const { respond } = edge.nodes
  edge.nodes.respond = async (request, call) => {
    const response = await respond(request, call)
    if (response.kind !== 'envelope') return response
    return {
      ...response,
      body: Buffer.from(response.body.toString().replace('"name":', '"inode":9007199254740993,"name":')),
    }
  }
  await edge.warm()
  t.not((await edge.get({ sort: 'name' })).status?.detail, 'snapshot')
})
