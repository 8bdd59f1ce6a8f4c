import t from 'tap'
import { explain } from '../../../../src/cache/explain.ts'
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
