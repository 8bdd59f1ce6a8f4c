import t from 'tap'
import { catalogue } from '../../../src/contracts/index.ts'
import { joinNodes } from '../src/join.ts'
import { FrameworkError } from '../src/model.ts'
import { type Ask, start } from './ask.ts'

type Item = Readonly<Record<string, unknown>>

const page = async (ask: Ask, request: string, node = 'master') => {
  const { json } = await ask(request, { node })
  return json?.data as { items: Item[]; totalItems: number }
}

t.test('every endpoint of the catalogue answers without an internal error', async (t) => {
  const { sim, ask } = await start(t)
  const values: Readonly<Record<string, string>> = {
    agent_id: '001',
    agent_name: 'app-001',
    group_id: 'default',
    node_id: 'worker-1',
    node_name: 'worker-1',
    component: 'syscheck',
    configuration: 'syscheck',
    filename: 'agent.conf',
    rule_id: '5710',
    decoder_name: 'sshd',
    policy_id: 'system_audit_ssh',
  }
  for (const { method, path, target } of catalogue) {
    if (method !== 'GET' || target.kind === 'edge' || target.kind === 'severalNodes') continue
    const filled = path.replaceAll(/:([a-z_]+)/g, (_, name: string) => values[name] ?? name)
    const query = path.endsWith('/files') && /manager|cluster/.test(path) ? '?path=etc/ossec.conf' : ''
    const { status, json, headers } = await ask(`GET ${filled}${query}`)
    t.ok(status === 200 && (json !== undefined || headers.get('content-type') === 'text/xml'), filled)
    t.not(json?.error, 1000, filled)
  }
  t.same(sim.thrown, [])
})

t.test('any node answers about the cluster; a node answers about itself', async (t) => {
  const { ask } = await start(t)
  const nodeOf = async (path: string, node: string) => (await ask(`GET ${path}`, { node })).json?.data
  for (const node of ['master', 'worker-1', 'worker-2']) {
    t.match(await nodeOf('/cluster/node', node), { node, type: node === 'master' ? 'master' : 'worker' })
    t.match(await nodeOf('/manager/info', node), { cluster: { node_name: node } })
    t.match(await nodeOf('/cluster/config', node), { node_name: node, nodes: ['10.0.0.10'], key: /^[0-9a-f]{32}$/ })
    t.match(await nodeOf('/cluster/worker-1/info', node), { cluster: { node_name: 'worker-1' } })
    t.match(await nodeOf('/agents/000', node), { name: 'master' }, 'the master keeps the agents')
  }
  t.same((await ask('GET /cluster/nope/info')).json, { error: 3022, message: 'Unknown node ID' })
  t.same(await nodeOf('/cluster/nodes?limit=1&offset=1', 'worker-2'), {
    totalItems: 3,
    items: [{ name: 'worker-1', type: 'worker', version: '3.11.5', ip: '10.0.0.11' }],
  })
  t.match(await nodeOf('/cluster/healthcheck?node=worker-10', 'master'), { nodes: { 'worker-1': {} } }, 'a quirk')
  t.same(await nodeOf('/cluster/configuration/validation', 'worker-1'), { status: 'OK' })
})

t.test('data of an agent comes from its owner', async (t) => {
  const { ask } = await start(t)
  const direct = await ask('GET /syscollector/002/os', { node: 'worker-2' })
  t.match(direct.json, { error: 0, data: { hostname: /-002$/ } })
})

t.test('joined pages lose rows, as in the real API', async (t) => {
  const { ask } = await start(t)
  const path = '/experimental/syscollector/netiface'
  const whole = await page(ask, `GET ${path}?limit=1000`)
  t.ok(whole.items.filter((row) => row.agent_id === '000').length >= 3, 'each node has an agent 000')
  const first = await page(ask, `GET ${path}?limit=3`)
  t.same(first.items, whole.items.slice(0, 3), 'in descending order of the nodes')
  const later = await page(ask, `GET ${path}?offset=2&limit=3`)
  t.equal(later.totalItems, whole.totalItems)
  t.notSame(later.items, whole.items.slice(2, 5), 'the offset is applied on each node and again after the join')
  const sorted = await page(ask, `GET ${path}?sort=-mac&limit=1000`)
  const macs = sorted.items.map((row) => String(row.mac))
  t.same(macs, macs.toSorted().reverse())
})

t.test('beside an agent that never connected the master counts its rows twice, and names each once', async (t) => {
  const { sim, ask } = await start(t)
  const request = 'GET /experimental/syscollector/netaddr?limit=1000'
  const { items, totalItems } = await page(ask, request)
  t.equal(new Set(items.map((row) => JSON.stringify(row))).size, items.length)
  t.ok(totalItems > items.length, `${totalItems} for ${items.length} rows`)
  for (const agent of [...sim.world.agents.values()]) if (agent.node === undefined) sim.world.agents.delete(agent.id)
  t.same(await page(ask, request), { items, totalItems: items.length })
})

t.test('one failing node fails the whole', async (t) => {
  const { sim, ask } = await start(t)
  await sim.faults.set('worker-1', { error: 3021 })
  t.same((await ask('GET /experimental/syscollector/os')).json, {
    error: 3021,
    message: 'Timeout executing API request',
  })
})

t.test('the rules of joining', (t) => {
  const now = new Date()
  const join = (...data: unknown[]) =>
    joinNodes(
      data.map((each) => ({ data: each })),
      {},
      now,
    )
  const collection = (...items: unknown[]) => ({ items, totalItems: items.length })
  t.same(
    join(collection(1, 2), collection(2, 3)),
    { items: [1, 2, 3], totalItems: 4 },
    'equal rows are dropped, and counted',
  )
  t.same(join({ status: 'OK' }, { status: 'KO', details: ['x'] }), { status: 'KO', details: ['x'] })
  t.same(join({ status: 'KO' }, { status: 'OK' }), { status: 'KO' })
  const [all, some] = ['All selected agents were restarted', 'Some agents were not restarted']
  t.same(join({ msg: all, affected_agents: ['1'] }, { msg: some, affected_agents: ['2'] }), {
    msg: some,
    affected_agents: ['1', '2'],
  })
  t.same(
    join({ count: 1, text: 'a' }, { count: 5, text: 'b' }),
    { count: 1, text: 'a' },
    'otherwise the value of the first node is used',
  )
  t.throws(() => join({}, 'text'), { code: 1000 })
  const failures = [new FrameworkError(1701, 'first'), new FrameworkError(3021, 'second')]
  t.throws(
    () =>
      joinNodes(
        failures.map((failure) => ({ failure })),
        {},
        now,
      ),
    { code: 3021, message: 'first' },
  )
  t.end()
})

t.test('without distribution each node answers from its own data', async (t) => {
  const { sim, ask } = await start(t, { distributed: false })
  const data = async (request: string, node: string) => (await ask(request, { node })).json
  t.match(await data('GET /syscollector/002/os', 'worker-1'), { data: { hostname: /-002$/ } })
  for (const node of ['master', 'worker-2']) {
    t.same(await data('GET /syscollector/002/os', node), { error: 0, data: {} }, 'silently empty')
    t.match(await data('GET /syscollector/002/packages', node), { error: 0, data: { items: [], totalItems: 0 } })
    t.match(await data('PUT /agents/002/restart', node), { data: { msg: 'All selected agents were restarted' } })
    t.match(await data('PUT /syscheck/002', node), { error: 0, data: 'Restarting Syscheck/Rootcheck on agent' })
  }
  t.equal(sim.world.agents.get('002')?.restarts, 0, 'falsely successful')
  await data('PUT /agents/002/restart', 'worker-1')
  t.equal(sim.world.agents.get('002')?.restarts, 1)

  t.match(await data('GET /agents/002', 'master'), { data: { status: 'Active', node_name: 'worker-1' } })
  t.match(await data('GET /agents/002', 'worker-2'), {
    data: { status: 'Never connected', node_name: 'unknown', dateAdd: '1970-01-01 00:00:00' },
  })
  t.match(await data('GET /agents/000', 'worker-2'), { data: { name: 'worker-2' } })
  t.same(await data('GET /cluster/worker-1/info', 'master'), { error: 1000, message: 'Internal error' })
  t.same(await data('GET /cluster/worker-1/info', 'worker-1'), { error: 1000, message: 'Internal error' })
  t.match(await data('GET /cluster/nodes', 'worker-1'), { data: { totalItems: 3 } })

  t.match(await data('PUT /agents/groups/lost', 'worker-1'), { error: 0 })
  t.notOk(sim.world.groups.has('lost'), 'what a worker writes for itself is overwritten by the master')
  t.match(await data('PUT /agents/kept', 'master'), { error: 0 })
  t.ok(sim.world.agents.has('041'))
})

t.test('without distribution a node returns only its own agents', async (t) => {
  const { sim, ask } = await start(t, { distributed: false })
  const ids = new Map<string, unknown[]>()
  for (const { name } of sim.nodes) {
    const { items } = await page(ask, 'GET /experimental/syscollector/hardware?limit=1000', name)
    ids.set(
      name,
      items.map((row) => row.agent_id),
    )
    for (const id of ids.get(name) ?? []) {
      t.ok(id === '000' || sim.world.agents.get(String(id))?.node === name, `${id} of ${name}`)
    }
  }
  t.equal([...ids.values()].flat().filter((id) => id === '000').length, 3)
  t.same(sim.thrown, [])
})
