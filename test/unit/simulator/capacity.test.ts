import t from 'tap'
import { type Simulator, startSimulator } from '../../../src/simulator/index.ts'
import { start } from './ask.ts'

const authorization = `Basic ${Buffer.from('edge:simulated').toString('base64')}`

/** Returns the milliseconds in which `clients` receive `answers` responses together, each with one request at a time. */
async function takes(sim: Simulator, clients: number, answers: number, headers: Record<string, string> = {}, at = 0) {
  let left = answers
  const begin = performance.now()
  const client = async () => {
    while (left-- > 0) {
      const reply = await fetch(`${sim.nodes[at]?.url}/agents/summary`, { headers: { authorization, ...headers } })
      await reply.arrayBuffer()
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
  return performance.now() - begin
}

const uncached = { 'x-apicache-bypass': '1' }

t.test('more than four concurrent requests complete less than four', async (t) => {
  const { sim } = await start(t, { capacity: { scale: 3 } })
  await takes(sim, 4, 4, uncached)
  const four = await takes(sim, 4, 12, uncached)
  const twelve = await takes(sim, 12, 12, uncached)
  t.ok(twelve > 1.4 * four, `${Math.round(four)} ms by 4, ${Math.round(twelve)} ms by 12`)
  t.match(sim.load('master'), { inFlight: 0, served: 28, interpreted: 28 })
  t.equal(sim.load('master').most, 12)
})

t.test('four concurrent requests complete more than one, and none starves', async (t) => {
  const { sim } = await start(t, { capacity: { scale: 8 } })
  await takes(sim, 1, 2, uncached)
  const one = await takes(sim, 1, 12, uncached)
  const four = await takes(sim, 4, 12, uncached)
  t.ok(four < one, `${Math.round(one)} ms by one, ${Math.round(four)} ms by four`)
})

t.test('the own cache of a node needs no interpreter, unless it is bypassed', async (t) => {
  const { sim } = await start(t, { capacity: { scale: 1 } })
  await takes(sim, 1, 5)
  const { interpreted } = sim.load('master')
  t.ok(interpreted < 5, `${interpreted} of 5`)
  await takes(sim, 1, 2, uncached)
  t.equal(sim.load('master').interpreted, interpreted + 2)
})

t.test(
  'errors of the API need no interpreter, and responses equal those of a node without capacity limits',
  async (t) => {
    const { sim, ask } = await start(t, { capacity: { scale: 50 } })
    await ask('GET /agents?limit=x')
    await ask('GET /nothing')
    await ask('GET /version')
    t.equal(sim.load('master').interpreted, 0)
    const other = await startSimulator({ agents: 40, now: sim.world.now })
    t.teardown(() => other.close())
    const reply = await ask('GET /agents/groups')
    const same = await fetch(`${other.nodes[0]?.url}/agents/groups`, { headers: { authorization } })
    t.same(reply.json, await same.json())
  },
)

t.test('a call through a worker costs the worker and the master', async (t) => {
  const { sim } = await start(t, { workers: 1, capacity: { scale: 20 } })
  await takes(sim, 1, 2, uncached, 1)
  t.match(sim.load('worker-1'), { served: 2, interpreted: 2, forwarded: 0 })
  t.match(sim.load('master'), { served: 0, interpreted: 0, forwarded: 2 })
})

t.test('nodes on one machine slow each other down, nodes on their own machines do not', async (t) => {
  const both = async (machines: 'own' | 'shared') => {
    const { sim } = await start(t, { workers: 1, capacity: { scale: 4, atOnce: 3, machines } })
    const begin = performance.now()
    const rules = async (node: number) => {
      const { url } = sim.nodes[node] ?? {}
      await (await fetch(`${url}/rules?limit=1`, { headers: { authorization, ...uncached } })).arrayBuffer()
    }
    await Promise.all(Array.from({ length: 6 }, (_, i) => rules(i % 2)))
    return performance.now() - begin
  }
  const own = await both('own')
  const shared = await both('shared')
  t.ok(shared > 1.5 * own, `${Math.round(own)} ms on two machines, ${Math.round(shared)} ms on one`)
})
