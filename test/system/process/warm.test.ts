import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { classify } from '../../../src/cli/warm-requests.ts'
import { startSimulator } from '../../../src/simulator/index.ts'
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
  t.equal(asked() - before, 16, 'each was asked for once')
  const again = await warm(['--from', file, '--user', 'reader'])
  t.match(again.out, /^0 stored, 16 already cached, 0 not cacheable, 0 failed/)
  t.equal(asked() - before, 16, 'and then no more')
  const headers = { authorization: edge.authorization('admin') }
  const hit = await fetch(`${edge.url}/agents/007`, { headers })
  t.match(hit.headers.get('cache-status'), /; hit/, 'for everybody who may read it')

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
    'what was listed can be asked for',
  )
  t.match((await warm(['--busiest', '5', '--user', 'reader'])).out, /^0 stored, 2 already cached/)

  writeFileSync(file, '/agents/001\n/agents/x?limit=many\n/agents/000/key\n/manager/configuration\n')
  const bad = await warm(['--from', file, '--user', 'admin'], 'admin-pw\n')
  t.equal(bad.code, 1)
  t.match(bad.out, /^1 stored, 0 already cached, 2 not cacheable, 1 failed, of 4/)
  t.match(bad.err, '/agents/x?limit=many: HTTP 400')
  t.match(bad.err, '/agents/000/key: not cacheable')
})

t.test('warm accepts a password or a token, and refuses wrong options before any request', async (t) => {
  const simulator = await startSimulator({ agents: 3, workers: 0, username: 'edge', password: 'only-for-tests' })
  t.teardown(() => simulator.close())
  const edge = await startEdge({ nodes: simulator.nodes, settings: { cache: lasting } })
  t.teardown(() => edge.close())
  const folder = t.testdir({
    urls: '/agents/001\n/agents/002\n',
    foreign: '/agents\nhttps://elsewhere.example/agents\n',
  })
  const from = ['--from', join(folder, 'urls')]
  const warm = (args: string[], input = '', url = edge.url) => result(t, ['warm', '--url', url, ...args], { input })

  const issued = await fetch(`${edge.url}/security/user/authenticate`, {
    method: 'POST',
    headers: { authorization: edge.authorization('reader') },
  })
  const { data } = (await issued.json()) as { data: { token: string } }
  writeFileSync(join(folder, 'token'), `${data.token}\n`, { mode: 0o600 })
  const byToken = await warm([...from, '--token-file', join(folder, 'token')])
  t.match(byToken.out, /^2 stored/, byToken.err)
  t.notMatch(byToken.out + byToken.err, data.token)

  const wrong = await warm([...from, '--user', 'reader'], 'wrong\n')
  t.equal(wrong.code, 1)
  t.match(wrong.err, 'the edge refuses the credentials (401)')
  const stranger = await warm(['--busiest', '3', '--user', 'nobody'], 'x\n')
  t.strictSame([stranger.code, stranger.err], [wrong.code, wrong.err])

  const usage: [string[], string | undefined, RegExp][] = [
    [[...from], undefined, /one of --user and --token-file/],
    [['--user', 'reader'], undefined, /one of --from and --busiest/],
    [[...from, '--busiest', '3', '--user', 'reader'], undefined, /one of --from and --busiest/],
    [[...from, '--user', 'reader'], edge.url.replace('//', '//reader:reader-pw@'), /--url contains a user name/],
    [[...from, '--user', 'reader'], 'ftp://x', /not an http or https URL/],
    [['--from', join(folder, 'foreign'), '--user', 'reader'], undefined, /foreign line 2: write a path/],
    [[...from, '--user', 'reader', '--concurrency', '0'], undefined, /from 1 to 64/],
    [
      [...from, '--user', 'reader', '--operations', `${edge.operationsUrl}/x`],
      undefined,
      /--operations must have no path/,
    ],
  ]
  for (const [args, url, says] of usage) {
    const refused = await warm(args, 'reader-pw\n', url)
    t.equal(refused.code, 2, args.join(' '))
    t.match(refused.err, says)
  }
  const nowhere = await warm(['--from', join(folder, 'nowhere'), '--user', 'reader'], 'reader-pw\n')
  t.equal(nowhere.code, 1)
  t.match(nowhere.err, 'cannot be read (ENOENT)')
  const blind = await warm([...from, '--user', 'reader', '--operations', edge.operationsUrl], 'reader-pw\n')
  t.equal(blind.code, 1)
  t.match(blind.err, 'GET /api/nodes of the operations listener has status 403; it needs operations:read')
  const closed = await warm(['--busiest', '1', '--user', 'reader'], 'reader-pw\n', 'http://127.0.0.1:1')
  t.equal(closed.code, 1)
  t.match(closed.err, 'http://127.0.0.1:1 cannot be reached')
})

t.test('warm pauses when the edge is at its limit, and requests the URL again', async (t) => {
  const seen: { at: number; path: string }[] = []
  let open = 0
  let most = 0
  let refusals = 0
  const server = createServer(async (request, answer) => {
    seen.push({ at: performance.now(), path: request.url ?? '' })
    most = Math.max(most, ++open)
    await new Promise((resolve) => setTimeout(resolve, 20))
    open--
    const full = request.url === '/agents/003' && refusals++ < 1
    const isBroken = request.url === '/agents/005'
    answer.writeHead(full ? 503 : isBroken ? 502 : 200, {
      ...(full && { 'retry-after': '1' }),
      'cache-status': 'x; stored',
    })
    answer.end('{}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const file = join(t.testdir({}), 'urls')
  const paths = Array.from({ length: 12 }, (_, at) => `/agents/${String(at).padStart(3, '0')}`)
  writeFileSync(file, paths.join('\n'))
  const args = ['warm', '--url', `http://127.0.0.1:${port}`, '--from', file, '--user', 'x', '--concurrency', '3']
  const { code, out, err } = await result(t, args, { input: 'x\n' })
  t.equal(code, 1, err)
  t.match(out, /^11 stored, 0 already cached, 0 not cacheable, 1 failed, of 12/)
  t.match(err, 'the edge is at its limit; waiting 1.0 s')
  t.match(err, '/agents/005: HTTP 502')
  t.equal(most, 3, 'never more concurrent requests than --concurrency')
  const tries = seen.filter(({ path }) => path === '/agents/003').map(({ at }) => at)
  t.equal(tries.length, 2)
  const [first = 0, second = 0] = tries
  t.ok(second - first >= 1000, `came again after ${Math.round(second - first)} ms`)
  const meanwhile = seen.filter(({ at }) => at > first + 100 && at < second - 100)
  t.ok(meanwhile.length === 0, `${meanwhile.length} others were asked for meanwhile`)
  t.equal(seen.length, 13, 'a broken gateway is not asked again')
})

t.test('with --operations, warm leaves half of the free slots to other callers', async (t) => {
  const account = { username: 'edge', password: 'only-for-tests' }
  const simulator = await startSimulator({ agents: 100, workers: 0, capacity: { scale: 6 }, ...account })
  t.teardown(() => simulator.close())
  const cluster = { discover: false, limits: { inFlight: 4, queue: 4, perCaller: 4 } }
  const edge = await startEdge({ nodes: simulator.nodes, settings: { cluster, cache: lasting } })
  t.teardown(() => edge.close())
  const list = (name: string, from: number) => {
    const file = join(t.testdirName, name)
    writeFileSync(
      file,
      Array.from({ length: 30 }, (_, at) => `/agents/${String(from + at).padStart(3, '0')}`).join('\n'),
    )
    return ['warm', '--url', edge.url, '--from', file, '--user', 'operator', '--concurrency', '16']
  }
  t.testdir({})
  const ended = result(t, [...list('first', 10), '--operations', edge.operationsUrl], { input: 'operator-pw\n' })
  let over = false
  void ended.finally(() => {
    over = true
  })
  const seen: number[] = []
  for (let at = 0; !over; at++) {
    const headers = { authorization: edge.authorization('reader') }
    const reply = await fetch(`${edge.url}/agents?limit=${at + 1}`, { headers })
    await reply.arrayBuffer()
    seen.push(reply.status)
  }
  const { code, out, err } = await ended
  t.equal(code, 0, err)
  t.match(out, /^30 stored/)
  t.strictSame([...new Set(seen)], [200], `${seen.length} requests of a client meanwhile, none of them shed`)
  const { most } = simulator.load('master')
  t.ok(most <= 3, `${most} at once: two of four places, and one for the client`)

  const greedy = await result(t, list('second', 50), { input: 'operator-pw\n' })
  t.match(greedy.out, /^30 stored/, 'by the answers of the edge alone it is through as well')
  t.ok(simulator.load('master').most > 3, 'and takes all that it may')
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
