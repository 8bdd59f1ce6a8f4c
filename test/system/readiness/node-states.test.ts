/** What operators see of a node that hangs, and of one that fails while no client asks for it. */
import t, { type Test } from 'tap'
import type { Nodes } from '../../../packages/console/server/node-types.ts'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import type { EdgeTimes } from '../../../src/app/times.ts'
import type { NodeStateName } from '../../../src/core/node-faults.ts'
import { type RunningEdge, SHORT_CONTACTS, startEdge } from '../../support/edge.ts'
import { eventually } from '../../support/eventually.ts'

const PASSWORD = 'only-for-tests'
/** A fifth of the times that apply. */
const times: EdgeTimes = {
  cluster: {
    ejection: { silence: { minWait: 400, maxWait: 800, probeTimeout: 400, probes: 2, pause: 100 } },
    contactTimes: SHORT_CONTACTS,
  },
}

async function startObserved(t: Test) {
  const simulator = await startSimulator({ workers: 1, agents: 2, password: PASSWORD })
  t.teardown(() => simulator.close())
  const edge = await startEdge({
    nodes: simulator.nodes,
    password: PASSWORD,
    times,
    settings: { operations: { metrics: 'open' } },
  })
  t.teardown(() => edge.close())
  return { simulator, edge }
}

function observe(edge: RunningEdge) {
  const authorization = edge.authorization('operator')
  const read = async (path: string) => (await fetch(edge.operationsUrl + path, { headers: { authorization } })).text()
  return {
    stateOf: async (node: string): Promise<NodeStateName | undefined> => {
      const { nodes } = JSON.parse(await read('/api/nodes')) as Nodes
      return nodes.find(({ name }) => name === node)?.state
    },
    degraded: async () => {
      const { degraded } = JSON.parse(await read('/readyz?verbose')) as { degraded: { reason: string }[] }
      return degraded.map(({ reason }) => reason)
    },
    problems: async () => {
      const { problems } = JSON.parse(await read('/api/problems')) as { problems: { kind: string; summary: string }[] }
      return problems
    },
    metrics: async (node: string) => {
      const lines = (await read('/metrics')).split('\n')
      const valueIn = (state: string) => {
        const line = lines.find((each) => each.startsWith(`edge_node_${state}{node="${node}"`))
        return Number(line?.split(' ').at(-1))
      }
      return { hangs: valueIn('hangs'), ejected: valueIn('ejected'), available: valueIn('available') }
    },
  }
}

t.test('a hang of the master is shown everywhere, and nothing else is ejected', async (t) => {
  const { simulator, edge } = await startObserved(t)
  const { stateOf, degraded, problems, metrics } = observe(edge)
  const get = (path: string) => fetch(edge.url + path, { headers: { authorization: edge.authorization('admin') } })
  await eventually(async () => (await stateOf('worker-1')) === 'up')
  await simulator.faults.set('master', { stall: true })
  const began = performance.now()
  const unanswered = get('/agents').then((response) => response.arrayBuffer())
  await eventually(async () => (await stateOf('master')) === 'hangs', 60_000)
  t.comment(`shown after ${Math.round(performance.now() - began)} ms`)
  t.ok((await degraded()).includes('nodeHangs'), '/readyz?verbose')
  t.match(await problems(), [{ kind: 'nodeHangs', summary: /^master hangs/ }])
  t.strictSame(await metrics('master'), { hangs: 1, ejected: 1, available: 0 })
  t.strictSame(await metrics('worker-1'), { hangs: 0, ejected: 0, available: 1 })
  await simulator.faults.clear()
  const ended = performance.now()
  await eventually(async () => (await stateOf('master')) === 'up', 60_000)
  t.comment(`up again after ${Math.round(performance.now() - ended)} ms`)
  t.strictSame(await metrics('master'), { hangs: 0, ejected: 0, available: 1 })
  // The error of the call that hung is a problem for a minute.
  t.match(await problems(), [{ kind: 'requestsFail', summary: /922/ }])
  await unanswered
})

t.test('a node that refuses connections is found although no client asks for it', async (t) => {
  const { simulator, edge } = await startObserved(t)
  const { stateOf, problems, metrics } = observe(edge)
  await eventually(async () => (await stateOf('worker-1')) === 'up')
  await simulator.faults.set('worker-1', { refuse: true })
  const both: string[] = []
  await eventually(async () => {
    const { available, ejected } = await metrics('worker-1')
    if (available === 1 && ejected === 1) both.push('available and ejected')
    return (await stateOf('worker-1')) === 'ejected'
  }, 120_000)
  t.match(await problems(), [{ kind: 'nodeUnreachable', summary: 'worker-1 is down' }])
  t.strictSame(both, [], 'never available and ejected at the same time')
  await simulator.faults.clear()
  await eventually(async () => (await stateOf('worker-1')) === 'up', 120_000)
  t.strictSame(await problems(), [])
})
