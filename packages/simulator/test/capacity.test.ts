import t from 'tap'
import { type Simulator, startSimulator } from '../src/index.ts'
import { start } from './ask.ts'

const authorization = `Basic ${Buffer.from('edge:simulated').toString('base64')}`

/** Resolves when `clients` have received `answers` responses together, each with one request at a time. */
async function receive(sim: Simulator, clients: number, answers: number, headers: Record<string, string> = {}, at = 0) {
  let left = answers
  const client = async () => {
    while (left-- > 0) {
      const reply = await fetch(`${sim.nodes[at]?.url}/agents/summary`, { headers: { authorization, ...headers } })
      await reply.arrayBuffer()
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
}

const uncached = { 'x-apicache-bypass': '1' }

t.test('the load of a node counts its requests in flight', async (t) => {
  const { sim } = await start(t, { capacity: { scale: 3 } })
  await receive(sim, 4, 4, uncached)
  t.match(sim.load('master'), { inFlight: 0, served: 4, interpreted: 4 })
  await receive(sim, 12, 12, uncached)
  t.match(sim.load('master'), { inFlight: 0, served: 16, interpreted: 16, most: 12 })
})

t.test('the own cache of a node needs no interpreter, unless it is bypassed', async (t) => {
  const { sim } = await start(t, { capacity: { scale: 1 } })
  await receive(sim, 1, 5)
  const { interpreted } = sim.load('master')
  t.ok(interpreted < 5, `${interpreted} of 5`)
  await receive(sim, 1, 2, uncached)
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
  await receive(sim, 1, 2, uncached, 1)
  t.match(sim.load('worker-1'), { served: 2, interpreted: 2, forwarded: 0 })
  t.match(sim.load('master'), { served: 0, interpreted: 0, forwarded: 2 })
})
