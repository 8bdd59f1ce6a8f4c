import fc from 'fast-check'
import t from 'tap'
import { agents, settings, snapshotReplica } from './collection-node.ts'

t.test('after two queries of a collection, no further query costs a call', async (t) => {
  const edge = snapshotReplica(agents(800))
  await edge.warm()
  const { calls } = edge.nodes
  t.equal(calls, 2, 'the query of the second client is the snapshot')
  for (const query of [
    { sort: '-name' },
    { status: 'active', limit: '3' },
    { offset: '700', q: 'id>10' },
    { select: 'id,name' },
  ]) {
    const { body, status } = await edge.get(query)
    t.strictSame(body, edge.direct(query))
    t.match(status, { hit: true, detail: 'snapshot' })
  }
  t.equal(edge.nodes.calls, calls)
})

t.test('random queries get the response of the node', async (t) => {
  const edge = snapshotReplica(agents(700))
  await edge.warm()
  const { calls } = edge.nodes
  const query = fc.record(
    {
      offset: fc.constantFrom('0', '1', '350', '699', '900'),
      limit: fc.constantFrom('1', '10', '500', '1000'),
      sort: fc.constantFrom('name', '-name', '-id', '-'),
      select: fc.constantFrom('name', 'id,status', 'os.name,name'),
      q: fc.constantFrom('id>100', 'name~9', '(status=active,id<5);id!=1', 'name!=agent-5', 'os.name=null'),
      status: fc.constantFrom('active', 'neverconnected', 'all'),
      name: fc.constantFrom('agent-1', 'AGENT-2', 'nope'),
    },
    { requiredKeys: [] },
  )
  const property = fc.asyncProperty(query, async (wanted) => {
    t.strictSame((await edge.get(wanted as Record<string, string>)).body, edge.direct(wanted as Record<string, string>))
  })
  await fc.assert(property, { numRuns: 200 })
  // Without a condition, recordings show the order of agents with equal values.
  for (const sort of ['+status', ' dateAdd']) t.strictSame((await edge.get({ sort })).body, edge.direct({ sort }))
  t.equal(edge.nodes.calls, calls)
  await edge.get({ sort: '+status', status: 'active' })
  t.equal(edge.nodes.calls, calls + 1, 'beside a condition, a node has their order')
})

t.test('a walk through the pages of a large collection sees each row once', async (t) => {
  const edge = snapshotReplica(agents(2500))
  await edge.warm()
  const { calls } = edge.nodes
  const ids: unknown[] = []
  for (let offset = 0; offset < 2500; offset += 400) {
    const { body } = await edge.get({ offset: `${offset}`, limit: '400', sort: 'name' })
    const { items, totalItems } = body.data as { items: { id: string }[]; totalItems: number }
    t.equal(totalItems, 2500)
    ids.push(...items.map(({ id }) => id))
  }
  t.equal(new Set(ids).size, 2500)
  t.equal(ids.length, 2500)
  t.equal(edge.nodes.calls, calls)
})

t.test('a computed response has the age and the remaining lifetime of its snapshot', async (t) => {
  const edge = snapshotReplica(agents(100))
  await edge.warm()
  edge.clock.advance(400)
  const { stored, status } = await edge.get({ sort: 'name' })
  t.equal(stored?.age, 400)
  t.equal(status?.ttl, 600)
  edge.clock.advance(100)
  t.match(
    (await edge.get({ sort: 'name' })).status,
    { hit: true, ttl: 500, detail: undefined },
    'stored, like any other',
  )
})

t.test('the body is stored as it was sent, so that its compressed forms are made once', async (t) => {
  const edge = snapshotReplica(agents(100))
  await edge.warm()
  for (const limit of ['1', '10', '90']) {
    const computed = await edge.get({ limit, sort: '-id' })
    t.equal(computed.status?.detail, 'snapshot')
    t.equal(
      (await edge.get({ limit, sort: '-id' })).stored?.response.body,
      computed.stored?.response.body,
      `${limit} rows`,
    )
  }
})

t.test('what a snapshot cannot know is answered by the node', async (t) => {
  const edge = snapshotReplica(agents(100))
  await edge.warm()
  for (const query of [{ search: 'agent-1' }, { limit: '0' }, { sort: 'nope' }, { select: 'nope' }, { q: 'nope=1' }]) {
    const { calls } = edge.nodes
    const { body, status } = await edge.get(query)
    t.equal(edge.nodes.calls, calls + 1, JSON.stringify(query))
    t.not(status?.detail, 'snapshot')
    t.ok(body)
  }
})

t.test('a group without snapshots asks the node for each query', async (t) => {
  const edge = snapshotReplica(agents(100), { settings: { snapshots: { ...settings, groups: ['rules'] } } })
  await edge.warm()
  await edge.get({ sort: 'name' })
  t.equal(edge.nodes.calls, 3)
})
