import t from 'tap'
import { startV4 } from './ask.ts'

/** The agent that reports to a node. */
function agentOf(
  world: { agents: ReadonlyMap<string, { readonly id: string; readonly node?: string }> },
  node: string,
) {
  return [...world.agents.values()].find((agent) => agent.id !== '000' && agent.node === node)?.id ?? ''
}

t.test('a node that restarts answers only its status', async (t) => {
  let now = new Date('2026-11-22T10:00:00Z')
  const { ask } = await startV4(t, { now: () => now, restartTakes: 20_000 })
  t.match(await ask('PUT /manager/restart'), { status: 200, json: { data: { affected_items: ['master'] } } })
  const notReady = { status: 400, json: { error: 1017, title: 'Bad Request' } }
  t.match(await ask('GET /agents'), notReady)
  t.match(await ask('GET /manager/status'), { status: 200 })
  t.match(await ask('POST /security/user/authenticate'), notReady)
  now = new Date(now.getTime() + 20_000)
  t.match(await ask('GET /agents'), { status: 200 }, 'tokens of before are good')
})

t.test('a worker without its master answers nothing', async (t) => {
  const { sim, ask, logIn } = await startV4(t)
  const authorization = `Bearer ${await logIn('edge', 'worker-1')}`
  await sim.faults.set('master', { nodeDown: true })
  const lost = { status: 400, json: { title: 'Wazuh Cluster Error', error: 3023 } }
  for (const path of ['/', '/agents', '/rules', '/cluster/local/info', '/manager/status']) {
    t.match(await ask(`GET ${path}`, { node: 'worker-1', authorization }), lost, path)
  }
  t.match(await ask('POST /security/user/authenticate', { node: 'worker-1', authorization }), lost)
})

t.test('agents of a lost worker fail alone in lists, and as the whole error by themselves', async (t) => {
  const { sim, ask } = await startV4(t)
  const [lost, mine] = [agentOf(sim.world, 'worker-2'), agentOf(sim.world, 'master')]
  await sim.faults.set('worker-2', { nodeDown: true })
  t.match(await ask(`GET /syscollector/${lost}/os`), { status: 400, json: { error: 3022 } })
  t.match(await ask(`GET /experimental/syscollector/os?agents_list=${mine},${lost}`), {
    status: 200,
    json: { error: 2, data: { total_affected_items: 1, failed_items: [{ error: { code: 3022 }, id: ['worker-2'] }] } },
  })
  t.match(await ask('GET /cluster/worker-2/info'), {
    status: 200,
    json: { error: 1, data: { failed_items: [{ error: { code: 1730 } }] }, message: 'No information was returned' },
  })
  t.match(await ask('GET /cluster/nodes'), { json: { data: { total_affected_items: 2 } } })
  t.match(await ask(`GET /agents?agents_list=${lost}`), { status: 200, json: { data: { total_affected_items: 1 } } })
})

t.test('calls to a node that is cut off hang and end in a timeout, other calls do not', async (t) => {
  const { sim, ask } = await startV4(t)
  const lost = agentOf(sim.world, 'worker-2')
  await sim.faults.set('worker-2', { cutOff: 1000 })
  // Started before the timer of the simulator, so it ends before that one.
  let isOver = false
  setTimeout(() => (isOver = true), 1000)
  const hanging = ask(`GET /syscheck/${lost}`)
  t.match(await ask('GET /agents?limit=1'), { status: 200 })
  t.match(await ask('GET /cluster/nodes'), { json: { data: { total_affected_items: 3 } } }, 'nobody has noticed yet')
  t.match(await hanging, { status: 500, json: { error: 3020 } })
  t.ok(isOver, 'after a second')
})

t.test('a search that is too long stops the executing process of its node until the API restarts', async (t) => {
  const { sim, ask } = await startV4(t, { v4: { executionLimit: 20 } })
  const timedOut = { status: 500, json: { title: 'Wazuh Internal Error', error: 3021 } }
  t.match(await ask(`GET /agents?search=${'a'.repeat(2501)}`), timedOut)
  t.match(await ask('GET /groups'), timedOut)
  t.match(await ask('GET /cluster/nodes'), { status: 200 }, 'answered in the API itself')
  t.match(await ask('GET /cluster/worker-1/info'), { status: 200 }, 'executed by another node')
  sim.v4.restartApi('master')
  t.match(await ask('GET /groups'), { status: 200 })

  t.match(await ask(`GET /agents?search=${'a'.repeat(2501)}`), timedOut)
  await sim.faults.set('master', { apiDown: true })
  await sim.faults.clear('master')
  t.match(await ask('GET /groups'), { status: 200 }, 'the API was down and is up again')
})

t.test('an error inside the cluster leaves the status of a node readable', async (t) => {
  const { sim, ask } = await startV4(t)
  await sim.faults.set('worker-1', { error: 1017 })
  t.match(await ask('GET /cluster/worker-1/info'), { status: 400, json: { error: 1017 } })
  t.match(await ask('GET /cluster/worker-1/status'), { status: 200, json: { error: 0 } })
})

t.test('faults of the v3 layout act on the v4 one', async (t) => {
  const { sim, ask, logIn } = await startV4(t)
  const authorization = `Bearer ${await logIn()}`
  await sim.faults.set('master', { apiDown: true })
  await t.rejects(ask('GET /agents', { authorization }), { code: 'ECONNREFUSED' })
  await sim.faults.set('master', { status: 503 })
  t.match(await ask('GET /agents', { authorization }), { status: 503 })
  await sim.faults.set('master', { error: 3021, times: 1 })
  t.match(await ask('GET /agents', { authorization }), { status: 500, json: { error: 3021 } })
  t.match(await ask('GET /agents', { authorization }), { status: 200 })
  t.match(sim.seen.at(-1), { node: 'master', method: 'GET', url: '/agents' })
})

t.test('a node changes its layout while it runs', async (t) => {
  const { sim, ask } = await startV4(t)
  sim.setLayout('worker-1', 'v3')
  const v3 = { node: 'worker-1', authorization: `Basic ${btoa('edge:simulated')}` }
  t.match(await ask('GET /agents?limit=1', v3), { status: 200, json: { data: { totalItems: 41 } } })
  sim.setLayout('worker-1', 'v4')
  t.match(await ask('GET /agents?limit=1', { node: 'worker-1' }), { json: { data: { total_affected_items: 41 } } })
})
