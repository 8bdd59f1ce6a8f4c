/** The smallest form of `matrix.test.ts`. */
import t from 'tap'
import { runMatrix } from './matrix.ts'

t.test('four random policies: each response is that of the node for this user', async (t) => {
  const seed = Date.now() % 1_000_000
  t.comment(`seed ${seed}`)
  const { differences, compared, hits } = await runMatrix({ seed, policies: 4, readsPerUser: 6 })
  t.strictSame(differences, [])
  t.ok(compared > 50, `${compared} responses`)
  t.ok(hits > 0, `${hits} hits`)
})
