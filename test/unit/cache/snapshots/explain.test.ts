import t from 'tap'
import { explain, readEntry } from '../../../../src/cache/explain.ts'
import { caller } from '../../../support/edge-requests.ts'
import { agents, explainPorts, snapshotReplica } from './collection-node.ts'

t.test('explain says which request a snapshot would answer, and explains the snapshot itself', async (t) => {
  const edge = snapshotReplica(agents(100))
  const ports = explainPorts(edge)
  const nextOf = async (url: string) => (await explain(ports, url, caller)).next
  t.match(await nextOf('/agents?sort=name'), { hit: false, reason: 'not stored' })
  await edge.warm()
  const { calls } = edge.nodes
  t.match(await nextOf('/agents?sort=name'), { hit: true, reason: /computed from a snapshot of the collection.*fresh/ })
  t.match(await nextOf('/agents?search=web'), { hit: false, reason: 'not stored' })
  t.match(await nextOf('/agents#*'), { hit: true, reason: 'fresh' })
  t.match(await explain(ports, '/agents#*', caller), { url: '/agents#*' })
  edge.clock.advance(120_000)
  t.match(await nextOf('/agents?sort=name'), { hit: false })
  t.equal(edge.nodes.calls, calls)
})

t.test('a snapshot is stored as one, not as a response, and operators can read its head', async (t) => {
  const edge = snapshotReplica(agents(100))
  const ports = explainPorts(edge)
  await edge.warm()
  const { key = '', tags = [] } = await explain(ports, '/agents#*', caller)
  const lookup = await edge.store.lookup(key, tags)
  t.match(lookup, { kind: 'hit', response: { kind: 'snapshot', rowBytes: Number } })
  for (const name of ['status', 'etag', 'forms']) t.notMatch(lookup, { response: { [name]: /./ } }, name)
  const read = await readEntry(ports, { key, url: '/agents#*' }, caller)
  t.match(read, { kind: 'stored', etag: '', encodings: {} })
  t.match(read.kind === 'stored' && JSON.parse(read.bytes.toString()), { parts: 1, totalItems: 100 })
})
