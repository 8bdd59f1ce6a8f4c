import t from 'tap'
import { start } from './ask.ts'

interface Collection {
  readonly items: readonly Readonly<Record<string, unknown>>[]
}

const items = (json: { data?: unknown } | undefined) => (json?.data as Collection | undefined)?.items ?? []

for (const distributed of [true, false]) {
  t.test(`an agent moves to another node (distribution ${distributed ? 'on' : 'off'})`, async (t) => {
    const { sim, ask } = await start(t, { distributed })
    const before = (await ask('GET /syscollector/002/os', { node: 'worker-1' })).json
    sim.moveAgent('002', 'worker-2')
    t.match((await ask('GET /agents/002')).json, { data: { node_name: 'worker-2' } })
    t.match((await ask('GET /syscollector/002/os', { node: 'worker-2' })).json, before ?? {}, 'with its data')
    if (!distributed) t.same((await ask('GET /syscollector/002/os', { node: 'worker-1' })).json, { error: 0, data: {} })
    t.throws(() => sim.moveAgent('002', 'nowhere'), /There is no node nowhere; there are master,worker-1,worker-2/)
    t.throws(() => sim.moveAgent('000', 'worker-1'), /no agent 000 that could move/)
  })
}

t.test('a new worker has the files of the master', async (t) => {
  const { sim, ask } = await start(t, { distributed: false })
  const rule = '<group name="x"><rule id="100100" level="3"><description>x</description></rule></group>'
  await ask('POST /manager/files?path=etc/rules/new.xml', { type: 'application/xml', body: rule })
  t.match(await sim.join(), { name: 'worker-3', type: 'worker', ip: '10.0.0.13' })
  t.same(
    items((await ask('GET /cluster/nodes')).json).map(({ name }) => name),
    ['master', 'worker-1', 'worker-2', 'worker-3'],
  )
  t.match((await ask('GET /manager/info', { node: 'worker-3' })).json, { data: { cluster: { node_name: 'worker-3' } } })
  t.equal((await ask('GET /manager/files?path=etc/rules/new.xml', { node: 'worker-3' })).json?.error, 0)
  t.same(
    items((await ask('GET /experimental/syscollector/os', { node: 'worker-3' })).json).map((row) => row.agent_id),
    ['000'],
    'no agents yet',
  )
  sim.moveAgent('001', 'worker-3')
  t.equal(items((await ask('GET /experimental/syscollector/os', { node: 'worker-3' })).json).length, 2)
  await sim.faults.set('worker-3', { status: 500 })
  t.equal((await ask('GET /manager/info', { node: 'worker-3' })).status, 500, 'faults apply to it as to other nodes')
})

t.test('a removed worker refuses connections, and its agents name it until they move', async (t) => {
  const { sim, ask } = await start(t)
  const url = sim.nodes[2]?.url ?? ''
  await sim.leave('worker-2')
  await t.rejects(fetch(url), { cause: { code: 'ECONNREFUSED' } })
  t.equal(items((await ask('GET /cluster/nodes')).json).length, 2)
  t.match((await ask('GET /agents/003')).json, { data: { node_name: 'worker-2' } })
  t.equal((await ask('GET /syscollector/003/os')).json?.error, 3022)
  sim.moveAgent('003', 'worker-1')
  t.equal((await ask('GET /syscollector/003/os')).json?.error, 0)
  await t.rejects(sim.faults.set('worker-2', {}), /There is no node worker-2/)
  await t.rejects(sim.leave('master'), /master is the master; promote another node first/)
})

for (const distributed of [true, false]) {
  t.test(`another node takes over (distribution ${distributed ? 'on' : 'off'})`, async (t) => {
    const { sim, ask } = await start(t, { distributed })
    await sim.faults.set('master', { nodeDown: true })
    if (distributed) t.equal((await ask('GET /agents', { node: 'worker-1' })).json?.error, 3012)
    await sim.promote('worker-1')
    t.match(
      items((await ask('GET /cluster/nodes', { node: 'worker-2' })).json).map(({ name, type }) => ({ name, type })),
      [
        { name: 'worker-1', type: 'master' },
        { name: 'worker-2', type: 'worker' },
      ],
    )
    const added = await ask('PUT /agents/newcomer', { node: 'worker-1' })
    t.match(added.json, { error: 0, data: { id: '041' } })
    t.match((await ask('GET /agents/000', { node: 'worker-1' })).json, { data: { name: 'worker-1' } })
    t.match((await ask('GET /manager/config/cluster/cluster', { node: 'worker-1' })).json, { error: /\d/ })
    await sim.faults.clear('master')
    t.match((await ask('GET /cluster/node', { node: 'master' })).json, { data: { node: 'master', type: 'worker' } })
    const { json } = await ask('GET /manager/configuration?section=cluster', { node: 'master' })
    t.match(json, { data: { node_type: 'worker', nodes: ['10.0.0.11'] } })
    if (!distributed)
      t.match((await ask('GET /agents/041', { node: 'master' })).json, { data: { node_name: 'unknown' } })
  })
}
