/** No user gets what the node would not give it, and the comparison finds an edge that shares responses across roles. */
import t from 'tap'
import { layoutRules } from '../../../../src/layouts/layout-rules.ts'
import { startEdge } from '../../../support/edge.ts'
import { runMatrix } from './matrix.ts'

const seed = Date.now() % 1_000_000

t.test('40 random policies: each response is that of the node for this user', async (t) => {
  t.comment(`seed ${seed}`)
  const { differences, compared, hits, distinct, statuses } = await runMatrix({ seed, policies: 40, readsPerUser: 6 })
  t.strictSame(differences, [])
  t.ok(compared > 1200, `${compared} responses`)
  t.ok(hits > compared / 8, `${hits} hits`)
  t.ok(distinct > 20, `${distinct} responses differ by rights`)
  t.ok((statuses[200] ?? 0) > (statuses[403] ?? 0), `${JSON.stringify(statuses)}`)
})

/** Starts an edge that takes the responses of nodes for the same for all users. */
const startWithFault: typeof startEdge = async (options) => {
  const rules = layoutRules.v4 as { hasRights: boolean }
  rules.hasRights = false
  try {
    return await startEdge(options)
  } finally {
    rules.hasRights = true
  }
}

t.test('planted: the scope of stored responses lacks the roles', async (t) => {
  const { differences } = await runMatrix({ seed, policies: 8, readsPerUser: 12, start: startWithFault })
  t.ok(differences.length > 10, `${differences.length} differences`)
})
