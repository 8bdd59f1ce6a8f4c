import t from 'tap'
import { simulated } from '../../support/simulated.ts'
import { ask } from './edge-mode.ts'

const settings = {
  cache: { enabled: false },
  cluster: { discover: false, limits: { timeout: '3s', slowTimeout: '5s' } },
}

t.test('a node whose API process is down while the node is part of the cluster', async (t) => {
  const { simulator, edge } = await simulated(t, { workers: 2, agents: 10 }, { settings })
  const restarts = (name: string) => simulator.world.nodes.find((node) => node.name === name)?.restarts
  const nameIn = (body: { readonly data?: { cluster?: { node_name?: string } } }) => body.data?.cluster?.node_name

  for (const node of ['worker-2', 'master']) {
    await t.test(`${node}: its data are read through another node, before and after it is ejected`, async (t) => {
      await simulator.faults.set(node, { apiDown: true })
      for (let attempt = 0; attempt < 12; attempt++) {
        const { status, body } = await ask(edge, `GET /cluster/${node}/info`)
        t.match({ status, name: nameIn(body) }, { status: 200, name: node })
      }
      for (const part of ['logs?limit=1', 'status', 'configuration', 'config/com/internal', 'stats', 'logs/summary']) {
        t.match(await ask(edge, `GET /cluster/${node}/${part}`), { status: 200, body: { error: 0 } }, part)
      }
      await simulator.faults.clear()
    })

    await t.test(`${node}: a write of which nothing was sent goes through another node, once`, async (t) => {
      const before = restarts(node) ?? 0
      await simulator.faults.set(node, { apiDown: true })
      t.match(await ask(edge, `PUT /cluster/${node}/restart`), { status: 200, body: { error: 0 } })
      t.equal(restarts(node), before + 1)
      await simulator.faults.clear()
    })

    await t.test(`${node}: several nodes at once miss none`, async (t) => {
      await simulator.faults.set(node, { apiDown: true })
      const { body } = await ask(edge, 'GET /cluster/*/info')
      t.equal(body.data.failed_nodes, undefined)
      t.strictSame(
        body.data.items.map((item: { cluster: { node_name: string } }) => item.cluster.node_name),
        ['master', 'worker-1', 'worker-2'],
      )
      t.match(await ask(edge, 'GET /cluster/configuration/validation'), { body: { data: { status: 'OK' } } })
      await simulator.faults.clear()
    })
  }

  await t.test('data that the cluster would mix are not read through another node', async (t) => {
    await simulator.faults.set('worker-2', { apiDown: true })
    for (const part of ['stats/analysisd', 'stats/remoted']) {
      const { status, body } = await ask(edge, `GET /cluster/worker-2/${part}`)
      t.ok([502, 503].includes(status), `${status}`)
      t.match(body, { error: /^92[04]$/, message: /worker-2/ })
    }
    await simulator.faults.clear()
  })
})

t.test('a node that receives requests and does not answer them', async (t) => {
  const { simulator, edge } = await simulated(t, { workers: 1, agents: 4 }, { settings })
  /** Calls of the edge itself, such as checks of its readiness, do not count. */
  const throughMaster = () =>
    simulator.seen.flatMap(({ node, url }) => (node === 'master' && url.startsWith('/cluster/worker-1/') ? [url] : []))

  await t.test('resets: a read goes through another node, a write does not', async (t) => {
    await simulator.faults.set('worker-1', { reset: true })
    t.match(await ask(edge, 'PUT /cluster/worker-1/restart'), {
      status: 502,
      body: { error: 928, message: /worker-1/ },
    })
    t.strictSame(throughMaster(), [], 'the write was sent to its node only')
    t.match(await ask(edge, 'GET /cluster/worker-1/info'), { status: 200, body: { error: 0 } })
    t.strictSame(throughMaster(), ['/cluster/worker-1/info'])
    await simulator.faults.clear()
  })
})

t.test('a node that hangs occupies no other node', async (t) => {
  const { simulator, edge } = await simulated(t, { workers: 1, agents: 4 }, { settings })
  await simulator.faults.set('worker-1', { stall: true })
  for (let attempt = 0; attempt < 4; attempt++) {
    const { status } = await ask(edge, 'GET /cluster/worker-1/info')
    t.ok([503, 504].includes(status), `${status}`)
  }
  t.notOk(simulator.seen.some(({ node, url }) => node === 'master' && url.startsWith('/cluster/worker-1/')))
})

t.test('a node that is down as a whole is an error that names the node, not an unknown node', async (t) => {
  const { simulator, edge } = await simulated(t, { workers: 2, agents: 4 }, { settings })
  await simulator.faults.set('worker-2', { nodeDown: true })
  for (const call of ['GET /cluster/worker-2/info', 'PUT /cluster/worker-2/restart']) {
    const { status, body } = await ask(edge, call)
    t.ok([502, 503].includes(status), `${call}: ${status}`)
    t.match(body, { error: /^92[04]$/, message: /worker-2/ })
  }
  const { body } = await ask(edge, 'GET /cluster/*/info')
  t.match(body.data.failed_nodes, [{ node: 'worker-2', error: { code: /^92[04]$/ } }])
})
