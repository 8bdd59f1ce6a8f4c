import t from 'tap'
import { start } from './ask.ts'

const form = { type: 'application/x-www-form-urlencoded' }
const json = (value: unknown) => ({ type: 'application/json', body: JSON.stringify(value) })

t.test('an added agent can be read at once through any node', async (t) => {
  const { ask } = await start(t)
  const added = await ask('POST /agents', { ...form, body: 'name=new&ip=10.9.0.1', node: 'worker-1' })
  t.match(added.text, /^{"error":0,"data":{"id":"041","key":"[A-Za-z0-9+/=]+"}}$/, 'as shell clients cut it')
  const key = /"key":"([^"]+)"/.exec(added.text)?.[1] ?? ''
  t.match(atob(key), /^041 new 10\.9\.0\.1 [0-9a-f]{64}$/)
  t.equal((await ask('GET /agents/041/key', { node: 'worker-2' })).json?.data, key)
  const { json: read } = await ask('GET /agents/041')
  t.match(read, { data: { id: '041', name: 'new', ip: '10.9.0.1', status: 'Never connected', node_name: 'unknown' } })
  t.notMatch(read?.data, { os: {} })
  t.match((await ask('GET /agents/name/new')).json, { data: { id: '041' } })
})

t.test('the address of the client is the default; the quick method uses any', async (t) => {
  const { ask } = await start(t)
  await ask('POST /agents/', json({ name: 'here' }))
  t.match((await ask('GET /agents/041')).json, { data: { ip: '127.0.0.1', registerIP: '127.0.0.1' } })
  t.match((await ask('PUT /agents/quick')).json, { error: 0, data: { id: '042' } })
  t.match((await ask('GET /agents/042')).json, { data: { ip: 'any' } })
})

t.test('a second agent with the same name, address or id is rejected', async (t) => {
  const { ask } = await start(t)
  const insert = { name: 'i', ip: '10.9.0.2', id: '950', key: 'a1'.repeat(32) }
  const inserted = await ask('POST /agents/insert', json(insert))
  t.match(inserted.json, { error: 0, data: { id: '950', key: btoa(`950 i 10.9.0.2 ${insert.key}`) } })
  const refusals: readonly (readonly [object, number, string])[] = [
    [{ name: 'i', ip: 'any' }, 9008, 'Duplicated name'],
    [{ name: 'other', ip: '10.9.0.2' }, 9007, 'Duplicated IP'],
    [{ ...insert, name: 'other', ip: 'any' }, 9012, 'Duplicated ID'],
    [{ ...insert, key: 'a1' }, 1709, 'Too short key size (<64)'],
  ]
  for (const [fields, error, message] of refusals) {
    const path = 'id' in fields ? '/agents/insert' : '/agents'
    t.same((await ask(`POST ${path}`, json(fields))).json, { error, message })
  }
  t.same((await ask('PUT /agents/i')).json, { error: 9008, message: 'Duplicated name' })
  t.match((await ask('POST /agents', json({ name: 'i', ip: 'any', force: 3600 }))).json, { error: 9008 }, 'too young')
  t.match((await ask('POST /agents', json({ name: 'i', ip: 'any', force: 0 }))).json, { error: 0, data: { id: '951' } })
  t.match((await ask('GET /agents/950')).json, { error: 1701 }, 'the replaced agent is removed')
})

t.test('removed and not removed agents are reported', async (t) => {
  const { ask } = await start(t)
  t.same((await ask('DELETE /agents/001?purge')).json?.data, {
    msg: 'All selected agents were removed',
    affected_agents: ['001'],
  })
  t.match((await ask('GET /agents/001')).json, { error: 1701 })
  for (const id of ['001', '000']) {
    t.same((await ask(`DELETE /agents/${id}`)).json?.data, {
      msg: 'Some agents were not removed',
      affected_agents: [],
      failed_ids: [{ id, error: { message: 'Agent ID not found', code: 9011 } }],
    })
  }
  const notEligible =
    "Agent is not eligible for removal: The agent has a status different to 'all' or the specified time frame 'older_than 7d' does not apply."
  t.same((await ask('DELETE /agents?ids=002,998,000')).json?.data, {
    msg: 'Some agents were not removed',
    affected_agents: [],
    failed_ids: [
      { id: '002', error: { message: notEligible, code: 1731 } },
      { id: '998', error: { message: 'Agent does not exist: 998', code: 1701 } },
      { id: '000', error: { message: 'Action not available for Manager (Agent 000)', code: 1703 } },
    ],
    older_than: '7d',
    total_affected_agents: 0,
    total_failed_ids: 3,
  })
  t.same((await ask('DELETE /agents?ids=002&older_than=0s&purge')).json?.data, {
    msg: 'All selected agents were removed',
    affected_agents: ['002'],
    older_than: '0s',
    total_affected_agents: 1,
  })
})

t.test('removes agents by status', async (t) => {
  const { ask } = await start(t)
  const summary = async () => (await ask('GET /agents/summary')).json?.data
  t.match(await summary(), { Total: 41, 'Never connected': 2 })
  t.match((await ask('DELETE /agents?status=neverconnected&older_than=1d')).json?.data, {
    msg: 'All selected agents were removed',
    affected_agents: ['020', '040'],
  })
  t.match(await summary(), { Total: 39, 'Never connected': 0 })
  t.same((await ask('DELETE /agents?status=neverconnected')).json?.data, {
    msg: 'No agents were removed',
    affected_agents: [],
    older_than: '7d',
    total_affected_agents: 0,
  })
})

t.test('restarts agents on the nodes that they report to', async (t) => {
  const { sim, ask } = await start(t)
  const restarts = (id: string) => sim.world.agents.get(id)?.restarts
  t.same((await ask('POST /agents/restart', json({ ids: ['001', '002', '3'] }))).json?.data, {
    msg: 'All selected agents were restarted',
    affected_agents: ['003', '002', '001'],
  })
  t.same([restarts('001'), restarts('002'), restarts('003'), restarts('004')], [1, 1, 1, 0])
  const partly = (await ask('POST /agents/restart', json({ ids: ['001', '007', '998'] }))).json?.data
  t.match(partly, {
    msg: 'Some agents were not restarted',
    affected_agents: ['001'],
    failed_ids: [
      { id: '007', error: { code: 1707 } },
      { id: '998', error: { message: 'Agent does not exist: 998', code: 1701 } },
    ],
  })
  t.same((await ask('PUT /agents/000/restart')).json?.data, {
    msg: 'Some agents were not restarted',
    affected_agents: [],
    failed_ids: [{ id: '000', error: { message: 'Action not available for Manager (Agent 000)', code: 1703 } }],
  })
  t.same((await ask('PUT /agents/restart')).json, { error: 0, data: 'Restarting all agents' })
  const after = [restarts('002'), restarts('004'), restarts('007'), restarts('020')]
  t.same(after, [2, 2, 0, 0], 'twice on the master, because 020 never connected')
})

t.test('an upgrade completes when its result is requested', async (t) => {
  const { sim, ask } = await start(t)
  const agent = sim.world.agents.get('001')
  if (agent !== undefined) agent.version = 'Wazuh v3.9.0'
  t.match((await ask('GET /agents/001/upgrade_result')).json, { error: 3021, message: 'Timeout executing API request' })
  t.same((await ask('PUT /agents/001/upgrade')).json, { error: 0, data: 'Upgrade procedure started' })
  t.match((await ask('GET /agents/001')).json, { data: { version: 'Wazuh v3.9.0' } })
  t.same((await ask('GET /agents/001/upgrade_result')).json, { error: 0, data: 'Agent upgraded successfully' })
  t.match((await ask('GET /agents/001')).json, { data: { version: 'Wazuh v3.11.5' } })
  t.match((await ask('PUT /agents/001/upgrade?version=3.8.0')).json, { error: 1749 })
  t.match((await ask('PUT /agents/001/upgrade?version=v9.0.0')).json, { error: 1717 })
  t.match((await ask('PUT /agents/007/upgrade')).json, { error: 1720 })
  t.match((await ask('PUT /agents/999/upgrade')).json, { error: 1701 })
  t.match((await ask('PUT /agents/001/upgrade_custom')).json, { error: 1307 })
  const custom = '/agents/001/upgrade_custom?file_path=/var/ossec/var/a.wpk&installer=upgrade.sh'
  t.same((await ask(`PUT ${custom}`)).json, { error: 0, data: 'Installation started' })
})

t.test('sends active responses that are configured, or custom', async (t) => {
  const { ask } = await start(t)
  const send = async (id: string, body: object) => (await ask(`PUT /active-response/${id}`, json(body))).json
  t.same(await send('001', { command: 'restart-ossec0', arguments: [] }), { error: 0, data: 'Command sent.' })
  t.same(await send('001', { command: 'nope' }), { error: 1655, message: 'Active response - Command not available' })
  t.match(await send('001', { command: 'nope', custom: true }), { error: 0 })
  t.match(await send('001', { command: '!nope.sh' }), { error: 0 })
  t.match(await send('001', {}), { error: 1650 })
  t.match(await send('007', { command: 'restart-ossec0' }), { error: 1651 })
  t.match(await send('999', { command: 'restart-ossec0' }), { error: 1701 })
})

t.test('the configuration of an active agent can be read', async (t) => {
  const { sim, ask } = await start(t)
  const config = async (path: string) => (await ask(`GET /agents/${path}`)).json
  t.match(await config('002/config/agent/client'), { data: { client: { server: [{ address: '10.0.0.11' }] } } })
  t.match(await config('001/config/nope/nope'), { error: 1101, message: 'Requested component does not exist' })
  t.match(await config('001/config/agent/nope'), { error: 1116 })
  t.match(await config('020/config/agent/client'), { error: 1740, message: 'Action only available for active agents' })
  const agent = sim.world.agents.get('003')
  if (agent !== undefined) agent.version = 'Wazuh v3.5.0'
  t.match(await config('003/config/nope/nope'), { error: 1735 })
  t.match(await config('999/config/agent/client'), { error: 1701 })
})

t.test('counts agents', async (t) => {
  const { ask } = await start(t)
  const data = async (path: string) => (await ask(`GET ${path}`)).json?.data as Record<string, unknown>
  t.same(await data('/agents/stats/distinct?fields=node_name&limit=2'), {
    items: [
      { node_name: 'master', count: 14 },
      { node_name: 'worker-1', count: 12 },
    ],
    totalItems: 41,
  })
  t.match((await ask('GET /agents/stats/distinct?fields=bogus')).json, { error: 1724 })
  t.match(await data('/agents/stats/distinct?offset=1&limit=1'), {
    items: [{ internal_key: /^[0-9a-f]{64}$/, count: 1 }],
  })
  t.match(await data('/agents/summary/os?limit=1'), { items: ['centos'] })
  t.match(await data('/agents/summary/os?limit=1&sort=-'), { items: ['windows'] })
  t.match(await data('/agents/outdated?limit=1'), { items: [], totalItems: 0 }, 'the page is cut first')
  t.same(Object.keys(await data('/summary/agents')), [
    'nodes',
    'groups',
    'agent_os',
    'agent_status',
    'agent_version',
    'last_registered_agent',
  ])
  t.match(await data('/agents/no_group?limit=1'), { items: [{ id: /^\d{3}$/ }], totalItems: Number })
})
