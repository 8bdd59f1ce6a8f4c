import t from 'tap'
import { agents, snapshotReplica } from './collection-node.ts'

/** The limit of computations that take long in one process. */
const MAX_COSTLY = 16

t.test('nodes answer what would keep the process busy with many new filters over many rows', async (t) => {
  const edge = snapshotReplica(agents(6000))
  await edge.warm()
  const { calls } = edge.nodes
  const queries = Array.from({ length: 40 }, (_, at) => ({ q: `name~agent-${at}` }))
  const responses = await Promise.all(queries.map((query) => edge.get(query)))
  for (const [at, query] of queries.entries()) t.strictSame(responses[at]?.body, edge.direct(query))
  t.equal(edge.nodes.calls - calls, queries.length - MAX_COSTLY)
  t.match((await edge.get({ q: 'name~agent-99' })).status, { hit: true, detail: 'snapshot' }, 'later ones are computed')
})
