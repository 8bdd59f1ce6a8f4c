/** Requests that the manager refuses before it does anything: the edge refuses them in the same words, without a call. */
import t from 'tap'
import { replayRefusals } from './replay.ts'

t.test('recorded refusals', async (t) => {
  const results = await replayRefusals()
  for (const { name, differences } of results) t.strictSame(differences, [], name)
  t.comment(`${results.length} exchanges`)
  t.ok(results.length > 1_200, `${results.length} exchanges`)
})
