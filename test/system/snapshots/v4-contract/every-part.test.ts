/**
 * Each part of a query of the v4 contract, alone and beside others, has the response of the node, whose database reads
 * rows from another index for another statement. A run has every tenth of them, `npm run check:answers` all.
 */
import t from 'tap'
import { collections, startSites } from './compare.ts'

const STEP = 10

t.test('parts of queries of each collection', async (t) => {
  const sites = await startSites(t)
  const from = Math.trunc(Math.random() * STEP)
  let [computed, queries] = [0, 0]
  for (const record of collections) {
    const compared = await sites.compareParts(record, STEP, from)
    t.strictSame(compared.differences, [], `${compared.path}, from ${from}`)
    computed += compared.computed
    queries += compared.queries
  }
  t.comment(`${queries} queries, ${computed} from snapshots`)
  t.ok(computed > queries / 10, `${computed} of ${queries} queries are answered from snapshots, from ${from}`)
})
