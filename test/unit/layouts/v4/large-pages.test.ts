/** The edge reads more rows at once than a client may, to build a snapshot of a collection in few calls. */
import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { measureBestRun } from '../../../support/event-loop.ts'
import { edgeRequest } from '../../upstream/edge-request.ts'
import { ask, success } from './recorded.ts'

/** The price ends a read, not its time: busy cores take longer. */
const AMPLE_MS = 60_000

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

t.test('rows of 100,000 agents are collected in turns of the event loop', async (t) => {
  const maxTurnMs = 20
  const agents = success(Array.from({ length: 100_000 }, (_, at) => ({ id: String(at + 1).padStart(3, '0') })))
  const rows = success(
    Array.from({ length: 5000 }, (_, at) => ({
      name: `package-${(at * 7919) % 5000}`,
      scan: { id: at % 3, time: '2026-11-20T12:26:22Z' },
      agent_id: String(1 + Math.floor(at / 50)).padStart(3, '0'),
    })),
  )
  const run = async () => {
    const query = { sort: '-name', limit: '500' }
    const request = edgeRequest('GET', '/experimental/syscollector/packages', { query })
    const respond = ({ path }: { path: string }) => (path.startsWith('/agents') ? agents : rows)
    const { calls, data } = await ask(request, respond, AMPLE_MS)
    t.equal(calls.length, 10, 'the price of a read of one node')
    t.match(data, { covered_agents: { all: 100_000 } })
  }
  const longest = await measureBestRun(run, maxTurnMs)
  t.ok(longest < maxTurnMs, `${longest} ms`)
})

t.test('a read of the rows of all agents ends in time, with the agents whose rows it has', async (t) => {
  const agents = success(Array.from({ length: 20_000 }, (_, at) => ({ id: String(at + 1).padStart(3, '0') })))
  const rows = success(Array.from({ length: 1000 }, () => ({ name: 'package', scan: { id: 1 }, agent_id: '001' })))
  // The calls take nearly all of the time: also on busy cores, the edge needs little beside them.
  const [timeout, slow] = [4000, 800]
  const request = edgeRequest('GET', '/experimental/syscollector/packages', { query: { limit: '500' } })
  const begun = performance.now()
  const respond = async ({ path }: { path: string }) => {
    if (path.startsWith('/agents')) return agents
    await wait(slow)
    return rows
  }
  const { calls, data } = await ask(request, respond, timeout)
  t.ok(performance.now() - begun < timeout)
  t.ok(calls.length > 2 && calls.length <= timeout / slow, `${calls.length} calls`)
  const { covered_agents: coverage } = data as { covered_agents: { covered: number; all: number } }
  t.equal(coverage.all, 20_000)
  t.ok(coverage.covered > 0 && coverage.covered < coverage.all)
})
