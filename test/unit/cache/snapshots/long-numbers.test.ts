import t from 'tap'
import { agents, snapshotReplica } from './collection-node.ts'

t.test('a number that JavaScript rounds makes no snapshot if the node prints a space in front of it', async (t) => {
  const edge = snapshotReplica(agents(3))
  const { respond } = edge.nodes
  edge.nodes.respond = async (request, call) => {
    const response = await respond(request, call)
    if (response.kind !== 'envelope') return response
    const text = response.body.toString().replaceAll('"name":', '"inode": 9007199254740993, "name": ')
    return { ...response, body: Buffer.from(text) }
  }
  await edge.warm()
  const response = await edge.get({ sort: 'name' })
  t.not(response.status?.detail, 'snapshot')
  t.match(response.stored?.response.body.toString(), '9007199254740993')
})
