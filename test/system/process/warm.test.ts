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

t.test(
  'the busiest URLs include snapshots and joined responses, and warm has no line of progress in a pipe',
  async (t) => {
    const simulator = await startSimulator({ agents: 20, workers: 1, username: 'edge', password: 'only-for-tests' })
    t.teardown(() => simulator.close())
    const edge = await startEdge({ nodes: simulator.nodes, settings: { cache: lasting } })
    t.teardown(() => edge.close())
    const headers = { authorization: edge.authorization('admin') }
    const read = async (path: string) => {
      const response = await fetch(edge.url + path, { headers })
      await response.arrayBuffer()
      return response.headers.get('cache-status') ?? ''
    }
    for (const limit of [1, 2, 3, 4]) await read(`/agents?limit=${limit}`)
    await read('/syscheck/001?limit=1')
    const warm = (...args: string[]) =>
      result(t, ['warm', '--url', edge.url, '--busiest', '9', '--user', 'reader', ...args], { input: 'reader-pw\n' })
    const listed = await warm('--list', '--json')
    t.equal(listed.code, 0, listed.err)
    const { urls } = JSON.parse(listed.out)
    t.match(urls[0], /^\/agents\?limit=[12]$/, 'two queries build the snapshot again')
    t.notMatch(urls.join(' '), '#')
    await fetch(`${edge.url}/cache`, { method: 'DELETE', headers })
    const file = join(t.testdir({}), 'urls')
    writeFileSync(file, urls.join('\n'))
    const args = ['warm', '--url', edge.url, '--from', file, '--user', 'reader']
    const warmed = await result(t, args, { input: 'reader-pw\n' })
    t.strictSame([warmed.code, warmed.err], [0, ''])
    t.match(await read('/agents?limit=7&sort=-id'), /hit; .*detail=snapshot/)
  },
)

t.test('warm reads and requests the URLs of the newer contract', async (t) => {
  const simulator = await startSimulator({ layout: 'newer', agents: 6, workers: 0, password: 'only-for-tests' })
  t.teardown(() => simulator.close())
  const settings = { listen: { secondPort: 0 }, cluster: { layout: 'newer' }, cache: lasting }
  const edge = await startEdge({ nodes: simulator.nodes, settings })
  t.teardown(() => edge.close())
  const basic = edge.authorization('admin')
  const logIn = await fetch(`${edge.secondUrl}/security/user/authenticate?raw=true`, {
    method: 'POST',
    headers: { authorization: basic },
  })
  const headers = { authorization: `Bearer ${await logIn.text()}` }
  for (const limit of [1, 2, 3]) await (await fetch(`${edge.secondUrl}/agents?limit=${limit}`, { headers })).text()
  await (await fetch(`${edge.url}/rules?limit=1`, { headers: { authorization: basic } })).text()
  const args = ['warm', '--url', String(edge.secondUrl), '--busiest', '9', '--user', 'reader', '--contract', 'newer']
  const { code, out, err } = await result(t, [...args, '--json'], { input: 'reader-pw\n' })
  t.strictSame([code, err], [0, ''])
  t.match(JSON.parse(out), { stored: 0, failed: 0, uncached: 0 })
  t.ok(JSON.parse(out).cached >= 2, out)
})
