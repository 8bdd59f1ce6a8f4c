/** The edge reads more rows at once than a client may, to build a snapshot of a collection in few calls. */
import t from 'tap'
import { measureBestRun } from '../../../support/event-loop.ts'
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

t.test('the edge sorts and pages many rows in turns of the event loop', async (t) => {
  const maxTurnMs = 20
  const platforms = Array.from({ length: 30_000 }, (_, at) => `platform-${(at * 7919) % 30_000}`)
  const response = success(platforms.map((platform) => ({ os: { platform }, count: 1 })))
  const query = { sort: '-', search: 'PLATFORM', limit: '10' }
  const longest = await measureBestRun(async () => {
    const { data } = await ask(edgeRequest('GET', '/agents/summary/os', { query }), () => response)
    t.match(data, { totalItems: 30_000, items: ['platform-9999'] })
  }, maxTurnMs)
  t.ok(longest < maxTurnMs, `${longest} ms`)
})
