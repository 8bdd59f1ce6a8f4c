import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { startEdge } from '../../support/edge.ts'
import { eventually } from '../../support/eventually.ts'
import { program, result } from './program.ts'

const lasting = { ttl: { agents: '120s', rules: '120s' } }

t.test('warm pauses when the edge is at its limit, and requests the URL again', async (t) => {
  const CONCURRENCY = 3
  const BUSY = '/agents/003'
  const BEFORE = 3
  const seen: { at: number; path: string }[] = []
  const tries = () => seen.filter(({ path }) => path === BUSY)
  let open = 0
  let most = 0
  const server = createServer(async (request, answer) => {
    const path = request.url ?? ''
    seen.push({ at: performance.now(), path })
    most = Math.max(most, ++open)
    const full = path === BUSY && tries().length === 1
    // The first try is refused while all other slots are in use. Their requests are answered when the pause has begun,
    // so that a request before its end could only come from a slot that should pause.
    if (full) await eventually(() => open === CONCURRENCY)
    else if (path > BUSY && tries().length < 2) await running.until(/at its limit/)
    open--
    const isBroken = path === '/agents/005'
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
  const args = [
    'warm',
    '--url',
    `http://127.0.0.1:${port}`,
    '--from',
    file,
    '--user',
    'x',
    '--concurrency',
    `${CONCURRENCY}`,
  ]
  const running = program(t, args, { input: 'x\n' })
  const { code, out, err } = await running.ended
  t.equal(code, 1, err)
  t.match(out, /^11 stored, 0 already cached, 0 not cacheable, 1 failed, of 12/)
  t.match(err, 'the edge is at its limit; waiting 1.0 s')
  t.match(err, '/agents/005: HTTP 502')
  t.equal(most, CONCURRENCY, 'never more concurrent requests than --concurrency')
  const [first, second] = tries()
  if (first === undefined || second === undefined) throw new Error('not requested twice')
  t.equal(tries().length, 2)
  t.ok(second.at - first.at >= 1000, `requested again after ${Math.round(second.at - first.at)} ms`)
  const next = seen[BEFORE + CONCURRENCY]
  t.ok(next !== undefined && next.at - first.at >= 1000, 'no slot sends a request during the pause')
  t.equal(seen.length, 13, 'no retry after 502')
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
  t.ok(most <= 3, `${most} concurrent calls: two of four slots, and one for the client`)

  const greedy = await result(t, list('second', 50), { input: 'operator-pw\n' })
  t.match(greedy.out, /^30 stored/, 'without --operations it finishes too')
  t.ok(simulator.load('master').most > 3, 'and uses more slots')
})
