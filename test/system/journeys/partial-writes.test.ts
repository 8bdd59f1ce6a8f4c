import { setTimeout as wait } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { type EdgeMode, edgeMode } from './edge-mode.ts'

/** Waits until no node is ejected. */
async function allRespond(t: Test, ask: EdgeMode['ask']): Promise<void> {
  for (const node of ['master', 'worker-1', 'worker-2']) {
    let status = 0
    for (let tries = 0; tries < 100 && status !== 200; tries += 1) {
      status = (await ask(`GET /cluster/${node}/status`)).status
      if (status !== 200) await wait(50)
    }
    t.equal(status, 200, `${node} responds`)
  }
}

t.test('a write that some nodes do not carry out names them', async (t) => {
  const { simulator, ask, seen } = await edgeMode(t, {
    cluster: { limits: { timeout: '1s', slowTimeout: '2s' } },
    settings: {
      cache: { ttl: { manager: '0s', cluster: '0s', agents: '30s', syscollector: '30s', syscheck: '30s' } },
    },
  })
  const { agents, nodes } = simulator.world
  const cacheStatus = async (call: string) => (await ask(call)).headers.get('cache-status') ?? ''
  t.beforeEach(async (t) => {
    await simulator.faults.clear()
    await allRespond(t, ask)
  })

  await t.test('agents of an unreachable owner are in failed_ids', async (t) => {
    await simulator.faults.set('worker-1', { apiDown: true })
    const { status, body, headers } = await ask('POST /agents/restart', { ids: ['001', '002', '003', '005'] })
    t.equal(status, 200)
    t.match(body, { error: 0, data: { msg: 'Some agents were not restarted', affected_agents: ['001', '003'] } })
    t.match(body.data.failed_ids, [
      { id: '002', error: { code: /92\d/, message: /worker-1/ } },
      { id: '005', error: { code: /92\d/, message: /worker-1/ } },
    ])
    t.match(headers.get('cluster-status'), /worker-1;error=[a-z_]+, worker-2;rtt=\d+;rows=1$/)
    t.strictSame(
      ['001', '002', '003', '005'].map((id) => agents.get(id)?.restarts),
      [1, 0, 1, 0],
    )
    t.match(await ask('POST /agents/restart', { ids: ['002'] }), { body: { error: /92\d/, message: /worker-1/ } })
  })

  await t.test('agents with an unknown owner are in failed_ids', async (t) => {
    const owner = agents.get('014')?.node
    Object.assign(agents.get('014') ?? {}, { node: undefined })
    const { body } = await ask('POST /agents/restart', { ids: ['001', '014'] })
    t.match(body.data, { affected_agents: ['001'], failed_ids: [{ id: '014', error: { code: 931 } }] })
    t.match(await ask('POST /agents/restart', { ids: ['014'] }), { status: 503, body: { error: 931 } })
    Object.assign(agents.get('014') ?? {}, { node: owner })
  })

  await t.test('a write to all nodes with one unreachable node is error 932 and names the nodes', async (t) => {
    await ask('GET /syscheck/001')
    t.match(await cacheStatus('GET /syscheck/001'), /hit/)
    await simulator.faults.set('worker-2', { apiDown: true })
    const partly = await ask('PUT /syscheck')
    t.match(partly, {
      status: 502,
      body: { error: 932, message: /carried out on master, worker-1; not on worker-2: 92\d / },
    })
    t.match(partly.headers.get('cluster-status'), /^master;rtt=\d+, worker-1;rtt=\d+, worker-2;error=[a-z_]+$/)
    t.notMatch(await cacheStatus('GET /syscheck/001'), /hit/, 'the nodes that acted invalidate the cache')
    await ask('GET /syscheck/001')
    t.match(await cacheStatus('GET /syscheck/001'), /hit/, 'the next response is stored')
  })

  await t.test(
    'a node that may have acted makes the outcome unknown, and the write fence prevents caching',
    async (t) => {
      await ask('GET /syscheck/001')
      await simulator.faults.set('worker-2', { stall: true })
      seen()
      const open = await ask('PUT /syscheck')
      t.match(open, { status: 502, body: { error: 933, message: /not on worker-2: 923 / } })
      t.equal(seen().filter((call) => call === 'worker-2 PUT /syscheck').length, 1, 'the write is not repeated')
      await simulator.faults.clear()
      await ask('GET /syscheck/001')
      t.notMatch(await cacheStatus('GET /syscheck/001'), /hit/, 'the write fence is still active')
    },
  )

  await t.test('an owner that may have acted leaves the write fence active', async (t) => {
    await ask('GET /agents/001')
    await simulator.faults.set('worker-2', { stall: true })
    const open = await ask('POST /agents/restart', { ids: ['001', '003'] })
    t.match(open.body.data, { affected_agents: ['001'], failed_ids: [{ id: '003', error: { code: 923 } }] })
    await simulator.faults.clear()
    await ask('GET /agents/003')
    t.notMatch(await cacheStatus('GET /agents/003'), /hit/, 'the write fence is still active')
  })

  await t.test('if all nodes refuse a write with the same error, the response is that error', async (t) => {
    for (const { name } of nodes) await simulator.faults.set(name, { error: 1017 })
    t.match(await ask('PUT /cluster/restart'), { status: 200, body: { error: 1017 } })
    await simulator.faults.clear()
    await simulator.faults.set('worker-1', { error: 1017 })
    t.match(await ask('PUT /cluster/restart'), { status: 502, body: { error: 932, message: /not on worker-1: 1017/ } })
  })
})

t.test('the validation of all nodes has one verdict', async (t) => {
  const { simulator, ask, seen } = await edgeMode(t, { settings: { cache: { enabled: false } } })
  const check = () => ask('GET /cluster/configuration/validation')
  t.match(await check(), { status: 200, body: { error: 0, data: { status: 'OK' } } })
  t.strictSame(
    seen().sort(),
    ['master', 'worker-1', 'worker-2'].map((node) => `${node} GET /manager/configuration/validation`),
  )
  const conf = simulator.world.nodes[2]?.files
  conf?.set('etc/ossec.conf', '<ossec_config><broken></ossec_config>')
  const bad = await check()
  t.match(bad.body, { error: 0, data: { status: 'KO' } })
  t.ok(bad.body.data.details.length > 0)
  t.match(
    bad.headers.get('cluster-status'),
    /^master;rtt=\d+;detail=OK, worker-1;rtt=\d+;detail=OK, worker-2;rtt=\d+;detail=KO$/,
  )
  await simulator.faults.set('worker-1', { apiDown: true })
  t.match(
    await check(),
    { status: /50\d/, body: { error: /92\d/, message: /worker-1/ } },
    'no verdict without all nodes',
  )
  await simulator.faults.set('worker-1', { error: 1017 })
  t.match(await check(), { status: 200, body: { error: 1017, message: /\(worker-1\)$/ } })
})
