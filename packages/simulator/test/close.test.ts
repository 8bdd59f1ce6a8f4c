/** A closed cluster keeps no process alive, however long its nodes would have taken for their requests. */
import t from 'tap'
import { eventually } from '../../../test/support/eventually.ts'
import { type Fault, type SimulatorOptions, startSimulator } from '../src/index.ts'

const HOUR_MS = 3_600_000

const cases: Readonly<Record<string, SimulatorOptions & { readonly node: number; readonly fault: Fault }>> = {
  'a slow node': { node: 0, fault: { delay: HOUR_MS } },
  'a slow node behind another one': { node: 1, fault: { delay: HOUR_MS } },
  'a node with much work': { node: 0, fault: {}, capacity: { scale: 1e-6 } },
  'a lost node of the v4 layout': { layout: 'v4', node: 1, fault: { cutOff: HOUR_MS } },
}

for (const [name, { node, fault, ...options }] of Object.entries(cases)) {
  t.test(name, async (t) => {
    const simulator = await startSimulator({ agents: 6, ...options })
    const [{ url } = { url: '' }, { name: worker } = { name: '' }] = simulator.nodes
    simulator.moveAgent('001', worker)
    await simulator.faults.set(simulator.nodes[node]?.name ?? '', fault)
    const authorization = await authorizationAt(url, options)
    const cut = t.rejects(fetch(`${url}/syscollector/001/os`, { headers: { authorization } }))
    await eventually(() => simulator.seen.some((seen) => seen.url.includes('syscollector')))
    await simulator.close()
    await cut
    t.notOk(process.getActiveResourcesInfo().includes('Timeout'))
  })
}

async function authorizationAt(url: string, { layout }: SimulatorOptions): Promise<string> {
  const basic = `Basic ${btoa('edge:simulated')}`
  if (layout !== 'v4') return basic
  const login = { method: 'POST', headers: { authorization: basic } }
  return `Bearer ${await (await fetch(`${url}/security/user/authenticate?raw=true`, login)).text()}`
}
