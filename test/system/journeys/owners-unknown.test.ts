import t from 'tap'
import { eventually } from '../../support/eventually.ts'
import { edgeMode } from './edge-mode.ts'

t.test('an unknown owner is an error, never an empty result', async (t) => {
  const { simulator, ask, seen, lookups, edge } = await edgeMode(t, {
    settings: { cache: { ttl: { agents: '1s' }, staleIfError: '2s' } },
  })
  const { agents } = simulator.world
  Object.assign(agents.get('002') ?? {}, { node: undefined })
  Object.assign(agents.get('005') ?? {}, { node: 'worker-9' })

  await t.test('the master does not report the node of an agent', async (t) => {
    const unknown = await ask('GET /syscollector/002/os')
    t.match(unknown, { status: 503, body: { error: 931, message: /002: the master does not report/ } })
    t.ok(unknown.headers.get('retry-after'))
    t.match(await ask('PUT /agents/002/restart'), { status: 503, body: { error: 931 } })
    t.match(await ask('GET /syscollector/005/os'), {
      status: 503,
      body: { error: 931, message: /worker-9 has no address/ },
    })
    t.match(await ask('PUT /syscheck/005'), { status: 503, body: { error: 931 } })
    t.strictSame(seen(), [], 'no node was called')
  })

  await t.test('an unreachable owner is the error of that node', async (t) => {
    await simulator.faults.set('worker-2', { apiDown: true })
    t.match(await ask('GET /syscollector/003/os'), { status: /502|503/, body: { error: /^92\d/, message: /worker-2/ } })
    t.match(await ask('PUT /agents/003/restart'), { status: /502|503/, body: { error: /^92\d/, message: /worker-2/ } })
    t.match(await ask('GET /syscollector/001/os'), { status: 200, body: { data: { hostname: String } } })
    t.equal(agents.get('003')?.restarts, 0)
    await simulator.faults.clear()
  })

  await t.test('while the master is unreachable, reads use the old owner table and writes are refused', async (t) => {
    // The owner table is read again while the master still responds.
    lookups()
    await eventually(async () => {
      await ask('GET /syscollector/008/os')
      return lookups().length > 0
    })
    await simulator.faults.set('master', { apiDown: true })
    seen()
    t.match(await ask('GET /syscollector/008/hardware'), { status: 200, body: { data: { cpu: Object } } })
    t.match(await ask('PUT /agents/008/restart'), { status: 503, body: { error: 931 } })
    t.equal(agents.get('008')?.restarts, 0)
    t.notOk(
      seen().some((call) => call.includes('restart')),
      'nothing was sent',
    )
    // Each read has another URL, so that none comes from the cache.
    let offset = 0
    const read = () => ask(`GET /syscollector/011/packages?limit=1&offset=${offset++}`)
    await eventually(async () => (await read()).status === 503)
    t.match(await read(), { status: 503, body: { error: 931 } }, 'not longer than staleIfError')
    await simulator.faults.clear()
    await eventually(async () => (await read()).status === 200)
    t.match(await read(), { status: 200 }, 'reads succeed again')
    t.notOk(
      edge.logged.some((line) => line.includes('"level":"error"')),
      'no error is logged',
    )
  })
})
