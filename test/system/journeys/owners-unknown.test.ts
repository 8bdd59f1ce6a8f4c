import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { edgeMode } from './edge-mode.ts'

t.test('an owner that is not known is an error, never an empty success', async (t) => {
  const { simulator, ask, seen, edge } = await edgeMode(t, {
    settings: { cache: { durations: { agents: '1s' }, staleIfError: '2s' } },
  })
  const { agents } = simulator.world
  Object.assign(agents.get('002') ?? {}, { node: undefined })
  Object.assign(agents.get('005') ?? {}, { node: 'worker-9' })

  await t.test('the master does not say where it reports to', async (t) => {
    const nowhere = await ask('GET /syscollector/002/os')
    t.match(nowhere, { status: 503, body: { error: 931, message: /002: the master does not say/ } })
    t.ok(nowhere.headers.get('retry-after'))
    t.match(await ask('PUT /agents/002/restart'), { status: 503, body: { error: 931 } })
    t.match(await ask('GET /syscollector/005/os'), {
      status: 503,
      body: { error: 931, message: /worker-9 has no address/ },
    })
    t.match(await ask('PUT /syscheck/005'), { status: 503, body: { error: 931 } })
    t.strictSame(seen(), [], 'no node was asked')
  })

  await t.test('an owner that is away: its own error', async (t) => {
    await simulator.faults.set('worker-2', { apiDown: true })
    t.match(await ask('GET /syscollector/003/os'), { status: /502|503/, body: { error: /^92\d/, message: /worker-2/ } })
    t.match(await ask('PUT /agents/003/restart'), { status: /502|503/, body: { error: /^92\d/, message: /worker-2/ } })
    t.match(await ask('GET /syscollector/001/os'), { status: 200, body: { data: { hostname: String } } })
    t.equal(agents.get('003')?.restarts, 0)
    await simulator.faults.clear()
  })

  await t.test('the master is away: reads go on for a while, writes are refused', async (t) => {
    await wait(1500)
    await ask('GET /syscollector/008/os')
    await simulator.faults.set('master', { apiDown: true })
    seen()
    t.match(await ask('GET /syscollector/008/hardware'), { status: 200, body: { data: { cpu: Object } } })
    t.match(await ask('PUT /agents/008/restart'), { status: 503, body: { error: 931 } })
    t.equal(agents.get('008')?.restarts, 0)
    t.notOk(
      seen().some((call) => call.includes('restart')),
      'nothing was sent',
    )
    await wait(3300)
    t.match(
      await ask('GET /syscollector/011/os'),
      { status: 503, body: { error: 931 } },
      'not longer than it may be stale',
    )
    await simulator.faults.clear()
    await wait(1100)
    const again = async () => (await ask('GET /syscollector/011/os')).status
    let status = await again()
    for (let tries = 0; tries < 40 && status !== 200; tries += 1) {
      await wait(100)
      status = await again()
    }
    t.equal(status, 200, 'and it comes back')
    t.notOk(
      edge.logged.some((line) => line.includes('"level":50')),
      'no error is logged',
    )
  })
})
