import t from 'tap'
import { EdgeError } from '../../../../src/core/errors.ts'
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

for (const [what, code, answersAgain] of [
  ['no node could be called', 920, true],
  ['a node refused the connection', 924, true],
  ['a call timed out, and the next one would take as long', 922, false],
] as const)
  t.test(
    `a collection is ${answersAgain ? '' : 'not '}tried again one second after it could not be read: ${what}`,
    async (t) => {
      const edge = snapshotReplica(agents(100))
      await edge.warm()
      const { respond } = edge.nodes
      edge.nodes.respond = () => {
        throw new EdgeError(code)
      }
      edge.clock.advance(5000)
      for (const sort of ['name', '-name']) t.match((await edge.get({ sort })).status, { detail: { error: Number } })
      edge.nodes.respond = respond
      edge.clock.advance(1100)
      for (const sort of ['status', '-status']) await edge.get({ sort })
      await edge.settleBuild()
      const before = edge.nodes.calls
      for (const sort of ['id', '-id']) await edge.get({ sort })
      t.equal(edge.nodes.calls === before, answersAgain)
    },
  )
