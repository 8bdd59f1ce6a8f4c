import t from 'tap'
import { SnapshotRows } from '../../../../src/cache/snapshots/rows.ts'
import type { SharedParts } from '../../../../src/cache/stores/contract.ts'
import { sources } from '../../../../src/collections/sources.ts'
import { eventually } from '../../../support/eventually.ts'
import { agents, snapshotReplica } from './collection-node.ts'

t.test('a snapshot is listed with its rows, the queries that it answered and the calls that built it', async (t) => {
  const edge = snapshotReplica(agents(1500))
  t.strictSame(edge.cache.snapshots(), [])
  await edge.warm()
  const [built] = edge.cache.snapshots()
  t.match(built, { url: '/agents#*', group: 'agents', rows: 1500, queries: 0, calls: 2 })
  t.ok((built?.bytes ?? 0) > 1500 * 50)
  for (const sort of ['name', '-name', 'id']) await edge.get({ sort, limit: '3' })
  await edge.get({ sort: 'name', limit: '3' })
  t.match(edge.cache.snapshots(), [{ queries: 3, calls: 2 }], 'a stored response is no further query')

  // The next snapshot takes the place of this one.
  edge.clock.advance(1500)
  await edge.get({ sort: 'name', limit: '4' })
  await edge.settleBuild()
  t.equal(edge.cache.snapshots().length, 1)
  t.match(edge.cache.snapshots(), [{ rows: 1500, calls: 4 }])
})

t.test('rows that Redis does not return once are read again, although the snapshot is stored for hours', async (t) => {
  let isReachable = true
  const stored = new Map<string, readonly Buffer[]>()
  const shared: SharedParts = {
    set: async (name, id, parts) => Boolean(stored.set(name + id, parts)),
    get: async (name, id) => (isReachable ? stored.get(name + id) : undefined),
  }
  const replica = () => new SnapshotRows({ shared, maxBytes: () => 1 << 20 })
  const place = {
    key: 'k',
    info: { url: '/agents#*', group: 'agents', endpoint: '/agents', scope: 'everyone', tags: [] },
  }
  const [text] = [Buffer.from('[{"id":"001"}]')]
  const collection = { totalItems: 1, parts: [text], bytes: text.length }
  const head = await replica().add(place, collection, sources.agents, { ms: 3_600_000, replaced: undefined })
  if (head === undefined) throw new Error('the rows were not stored')
  const other = replica()
  const find = () => other.find(place, head, sources.agents, 3_600_000)
  isReachable = false
  t.equal(await find(), undefined)
  isReachable = true
  await eventually(async () => (await find()) !== undefined)
})
