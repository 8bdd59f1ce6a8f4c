import t from 'tap'
import { eventually } from '../../support/eventually.ts'
import { simulated } from '../../support/simulated.ts'
import { ask } from './edge-mode.ts'

t.test('a node that is unreachable', async (t) => {
  const settings = { cache: { enabled: false }, cluster: { limits: { timeout: '2s', slowTimeout: '4s' } } }
  const { simulator, edge } = await simulated(t, { workers: 2, agents: 10 }, { settings })
  t.beforeEach(() => simulator.faults.clear())
  const nodesAsked = (from: number) =>
    simulator.seen.slice(from).flatMap(({ node, url }) => (url === '/version' ? [] : [node]))

  await t.test('the API of the master is stopped: reads and writes go through a worker', async (t) => {
    await simulator.faults.set('master', { apiDown: true })
    const from = simulator.seen.length
    t.match(await ask(edge, 'GET /agents?limit=1'), { status: 200, body: { error: 0 } })
    t.match(await ask(edge, 'GET /rules?limit=1'), { status: 200, body: { error: 0 } })
    const added = await ask(edge, 'POST /agents', { name: 'through-a-worker', ip: 'any' })
    t.match(added, { status: 200, body: { error: 0, data: { id: String, key: String } } })
    t.ok(
      nodesAsked(from).every((node) => node !== 'master'),
      'the master received no call',
    )
    t.ok(
      [...simulator.world.agents.values()].some(({ name }) => name === 'through-a-worker'),
      'the agent was added',
    )
  })

  await t.test(
    'the API of the master is stopped: its own data comes from the path of the cluster, or not at all',
    async (t) => {
      await simulator.faults.set('master', { apiDown: true })
      const from = simulator.seen.length
      t.match(await ask(edge, 'GET /manager/info'), {
        status: 200,
        body: { data: { cluster: { node_name: 'master' } } },
      })
      t.match(simulator.seen.at(-1)?.url, /^\/cluster\/master\/info/)
      const node = await ask(edge, 'GET /cluster/node')
      t.ok([502, 503].includes(node.status), `${node.status}: a worker would report about itself`)
      t.match(node.body.message, /master/)
      t.ok(nodesAsked(from).every((name) => name !== 'master'))
    },
  )

  await t.test('a worker is down: its own paths fail with its name, the others work', async (t) => {
    await simulator.faults.set('worker-1', { nodeDown: true })
    const stopped = await ask(edge, 'GET /cluster/worker-1/info')
    t.ok([502, 503].includes(stopped.status))
    t.match(stopped.body, { error: Number, message: /worker-1/ })
    t.match(await ask(edge, 'GET /cluster/worker-2/info'), { status: 200, body: { error: 0 } })
  })

  await t.test('all APIs are stopped: 503 with Retry-After, and the edge stays ready', async (t) => {
    for (const { name } of simulator.nodes) await simulator.faults.set(name, { apiDown: true })
    for (let attempt = 0; attempt < 4; attempt++) await ask(edge, 'GET /agents')
    let none = await ask(edge, 'GET /agents')
    // A request that comes when an ejection ends is a probe, and gets the failure of its call.
    if (none.status === 502) none = await ask(edge, 'GET /agents')
    t.equal(none.status, 503)
    t.ok(Number(none.headers.get('retry-after')) >= 1)
    const ready = await fetch(`${edge.operationsUrl}/readyz`)
    t.equal(ready.status, 200, 'balancers would take out every replica at once')
    t.equal((await fetch(`${edge.operationsUrl}/livez`)).status, 200, 'the process is alive')
  })
})

t.test('a node with invalid responses', async (t) => {
  const settings = { cache: { enabled: false }, cluster: { limits: { timeout: '1s', slowTimeout: '2s' } } }
  const { simulator, edge } = await simulated(t, { workers: 1, agents: 10 }, { settings })
  t.beforeEach(() => simulator.faults.clear())
  const calls = (path: string) =>
    simulator.seen.filter(({ url, node }) => node === 'worker-1' && url.startsWith(path)).length

  await t.test('an error of the framework passes unchanged, with HTTP 200', async (t) => {
    await simulator.faults.set('worker-1', { error: 1017 })
    t.match(await ask(edge, 'GET /cluster/worker-1/info'), { status: 200, body: { error: 1017, message: String } })
  })

  await t.test(
    'a timeout: 922 for a read, 923 for a write, which may have been carried out and is not repeated',
    async (t) => {
      await simulator.faults.set('worker-1', { stall: true })
      t.match(await ask(edge, 'GET /cluster/worker-1/status'), {
        status: 504,
        body: { error: 922, message: /worker-1/ },
      })
      const before = calls('/manager/restart')
      t.match(await ask(edge, 'PUT /cluster/worker-1/restart'), {
        status: 504,
        body: { error: 923, message: /worker-1/ },
      })
      t.equal(calls('/manager/restart'), before + 1, 'sent once')
    },
  )

  for (const [what, fault] of [
    ['HTML', { html: true }],
    ['a truncated response', { truncate: 10 }],
    ['an empty 500', { status: 500 }],
  ] as const) {
    await t.test(`${what}: 502 with the name of the node`, async (t) => {
      // The failures of the row before must not have ejected the node.
      await simulator.faults.clear()
      await eventually(async () => (await ask(edge, 'GET /cluster/worker-1/status')).status === 200)
      await simulator.faults.set('worker-1', fault)
      const answer = await ask(edge, 'GET /cluster/worker-1/info')
      t.match(answer, { status: 502, body: { error: Number, message: /worker-1/ } })
    })
  }
})
