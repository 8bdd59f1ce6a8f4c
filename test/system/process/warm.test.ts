import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { classify } from '../../../src/cli/warm-requests.ts'
import { startEdge } from '../../support/edge.ts'
import { result } from './program.ts'

const lasting = { ttl: { agents: '120s', rules: '120s' } }

t.test('warm fills the cache from a list, reports the outcome, and requests each URL once', async (t) => {
  const simulator = await startSimulator({ agents: 20, workers: 1, username: 'edge', password: 'only-for-tests' })
  t.teardown(() => simulator.close())
  const edge = await startEdge({ nodes: simulator.nodes, settings: { cache: lasting } })
  t.teardown(() => edge.close())
  const folder = t.testdir({})
  const file = join(folder, 'urls')
  const warm = (args: string[], input = 'reader-pw\n') => result(t, ['warm', '--url', edge.url, ...args], { input })
  const asked = () => simulator.seen.filter(({ headers }) => headers['x-request-id'] !== 'discovery').length

  const agents = Array.from({ length: 15 }, (_, at) => `/agents/${String(at).padStart(3, '0')}`)
  writeFileSync(file, ['# the busy ones', '', ...agents, `${edge.url}/rules?limit=5`, agents[0]].join('\n'))
  const before = asked()
  const first = await warm(['--from', file, '--user', 'reader'])
  t.equal(first.code, 0, first.err)
  t.match(first.out, /^16 stored, 0 already cached, 0 not cacheable, 0 failed, of 16 in /)
  t.equal(asked() - before, 16, 'each URL was requested once')
  const again = await warm(['--from', file, '--user', 'reader'])
  t.match(again.out, /^0 stored, 16 already cached, 0 not cacheable, 0 failed/)
  t.equal(asked() - before, 16, 'and not again')
  const headers = { authorization: edge.authorization('admin') }
  const hit = await fetch(`${edge.url}/agents/007`, { headers })
  t.match(hit.headers.get('cache-status'), /; hit/, 'for every caller with the permission')

  for (let turn = 0; turn < 3; turn++) await (await fetch(`${edge.url}/agents/009`, { headers })).text()
  const busiest = await warm(['--busiest', '2', '--list', '--user', 'reader'])
  t.equal(busiest.code, 0, busiest.err)
  const listed = busiest.out.trim().split('\n')
  t.equal(listed.length, 2)
  t.equal(listed[0], '/agents/009', 'most hits first')
  await fetch(`${edge.url}/cache`, { method: 'DELETE', headers })
  writeFileSync(file, busiest.out)
  t.match(
    (await warm(['--from', file, '--user', 'reader'])).out,
    /^2 stored, 0 already cached/,
    'the list is valid for --from',
  )
  t.match((await warm(['--busiest', '5', '--user', 'reader'])).out, /^0 stored, 2 already cached/)

  writeFileSync(file, '/agents/001\n/agents/x?limit=many\n/agents/000/key\n/manager/configuration\n')
  const bad = await warm(['--from', file, '--user', 'admin'], 'admin-pw\n')
  t.equal(bad.code, 1)
  t.match(bad.out, /^1 stored, 0 already cached, 2 not cacheable, 1 failed, of 4/)
  t.match(bad.err, '/agents/x?limit=many: HTTP 400')
  t.match(bad.err, '/agents/000/key: not cacheable')
})

t.test('Cache-Status decides the outcome of a request', async (t) => {
  const rows: readonly (readonly [string, string])[] = [
    ['manager-edge; hit; ttl=59', 'cached'],
    ['manager-edge; fwd=uri-miss; stored; ttl=60', 'stored'],
    ['manager-edge; fwd=uri-miss; collapsed; ttl=60', 'stored'],
    ['manager-edge; fwd=uri-miss; ttl=60', 'stored'],
    ['manager-edge; fwd=bypass', 'uncached'],
    ['', 'uncached'],
  ]
  for (const [cacheStatus, outcome] of rows)
    t.equal(classify({ status: 200, cacheStatus }).outcome, outcome, cacheStatus)
  t.equal(classify({ status: 504, cacheStatus: '' }).outcome, 'failed')
})
