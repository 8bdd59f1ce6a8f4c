import t from 'tap'
import { success } from '../../../support/edge-requests.ts'
import { agents, snapshotReplica } from './collection-node.ts'

t.test('a stale snapshot that cannot be read again is not tried again by each query', async (t) => {
  const edge = snapshotReplica(agents(2500))
  await edge.warm()
  const { respond } = edge.nodes
  let attempts = 0
  edge.nodes.respond = async (request, call) => {
    if (request.query.limit !== '1000') return respond(request, call)
    const offset = Number(request.query.offset ?? 0)
    if (offset === 0) attempts += 1
    // Its rows change while it is read.
    return success({ items: agents(2500).slice(offset, offset + 1000), totalItems: offset === 0 ? 2500 : 2501 })
  }
  edge.clock.advance(1100)
  for (const sort of ['id', '-id', 'name', '-name', 'status']) {
    const { status } = await edge.get({ sort })
    t.match(status, { hit: true, detail: 'snapshot' }, 'the stale snapshot answers meanwhile')
    await edge.settleBuild()
  }
  t.equal(attempts, 1)
})
