/** The edge reads more rows at once than a client may, to build a snapshot of a collection in few calls. */
import t from 'tap'
import { edgeRequest } from '../edge-request.ts'
import { ask, success } from './recorded.ts'

t.test('a page of 5,000 rows is passed to the node', async (t) => {
  const rows = Array.from({ length: 3000 }, (_, id) => ({ id, filename: 'a.xml' }))
  const { calls, data } = await ask(edgeRequest('GET', '/rules', { query: { limit: '5000' } }), () => success(rows))
  t.same(calls, ['GET /rules?limit=5000'])
  t.equal((data as { items: unknown[] }).items.length, 3000)
})

t.test('a page of 5,000 rows is cut by the edge where the node has no pages', async (t) => {
  const platforms = Array.from({ length: 1500 }, (_, at) => `platform-${String(at).padStart(4, '0')}`)
  const query = { limit: '5000', offset: '2' }
  const { data } = await ask(edgeRequest('GET', '/agents/summary/os', { query }), () =>
    success(platforms.map((platform) => ({ os: { platform }, count: 1 }))),
  )
  t.same(data, { items: platforms.slice(2), totalItems: 1500 })
})
