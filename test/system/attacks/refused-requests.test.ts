/** Refused requests, as `npm run check:attacks` sends them on each version of Node. */
import t from 'tap'
import { checkRefusedRequests } from './refused.ts'

t.test('a refused request ends nothing but its connection', { timeout: 300_000 }, async (t) => {
  const results = await checkRefusedRequests()
  for (const [kind, { checked, failed }] of results) t.strictSame(failed, [], `${kind}: ${checked} checked`)
  t.ok(results.size > 8)
})
