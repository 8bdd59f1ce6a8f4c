/** Reads of agents behind a node with the v4 layout. */
import t from 'tap'
import { edgeRequest } from '../../upstream/edge-request.ts'
import { ask, askRecorded, recorded, success } from './recorded.ts'

const agent1 = {
  id: '001',
  name: 'wazuh-agent1',
  status: 'active',
  dateAdd: '1970-01-01T00:00:00+00:00',
  lastKeepAlive: '2026-11-22T00:31:12+00:00',
  group_config_status: 'synced',
  disconnection_time: '2026-11-19T00:21:08+00:00',
}

t.test('an agent has the v3 status and dates, and no fields of the v4 layout', async (t) => {
  const request = edgeRequest('GET', '/agents/:agent_id', { params: { agent_id: '001' } })
  const { calls, data } = await ask(request, () => success([agent1]))
  t.same(calls, ['GET /agents?agents_list=001'])
  t.same(data, {
    id: '001',
    name: 'wazuh-agent1',
    status: 'Active',
    dateAdd: '1970-01-01 00:00:00',
    lastKeepAlive: '2026-11-22 00:31:12',
  })
})

t.test('an agent that does not exist is error 1701', async (t) => {
  const request = edgeRequest('GET', '/agents/:agent_id', { params: { agent_id: '999' } })
  const { status, json } = await ask(request, () => recorded('GET /agents?agents_list=999'))
  t.equal(status, 200)
  t.same(json, { error: 1701, message: 'Agent does not exist' })
})

t.test('an agent is found by its name in the same case only', async (t) => {
  const found = await askRecorded(
    'GET /agents/name/:agent_name',
    { params: { agent_name: 'web01' } },
    'GET /agents?name=web01',
  )
  t.match(found.data, { name: 'web01' })
  const other = await askRecorded(
    'GET /agents/name/:agent_name',
    { params: { agent_name: 'WEB01' } },
    'GET /agents?name=WEB01',
  )
  t.match(other.json, { error: 1701 })
})

t.test('the name is compared although the client does not select it', async (t) => {
  const parts = { params: { agent_name: 'web01' }, query: { select: 'id' } }
  const request = edgeRequest('GET', '/agents/name/:agent_name', parts)
  const { calls, data } = await ask(request, () => success([{ id: '004', name: 'web01' }]))
  t.same(calls, ['GET /agents?name=web01&select=id,name'])
  t.same(data, { id: '004' })
})

t.test('a list always has the ids, as in the v3 layout', async (t) => {
  const request = edgeRequest('GET', '/agents', { query: { select: 'name' } })
  const { data } = await ask(request, () => success([{ id: '004', name: 'web01' }], { total: 7 }))
  t.same(data, { items: [{ id: '004', name: 'web01' }], totalItems: 7 })
})

t.test('fields that only the v4 layout has are refused without a call', async (t) => {
  for (const [query, error] of [
    [{ select: 'disconnection_time' }, 1724],
    [{ sort: '-group_config_status' }, 1403],
    [{ q: 'disconnection_time>1d' }, 1408],
  ] as const) {
    const { calls, json } = await ask(edgeRequest('GET', '/agents', { query }), () => success([]))
    t.same(calls, [])
    t.match(json, { error })
  }
})

t.test('agents without a group are filtered by their status, which the node cannot', async (t) => {
  const request = edgeRequest('GET', '/agents/no_group', { query: { status: 'never connected', limit: '5' } })
  const { calls, data } = await ask(request, () => recorded('GET /agents/no_group'))
  t.same(calls, ['GET /agents/no_group?limit=100000'])
  t.match(data, { items: [{ id: '009', status: 'Never connected' }], totalItems: 1 })
})

t.test('outdated agents can be selected, sorted and paged', async (t) => {
  const query = { select: 'version', sort: '-id', offset: '1', limit: '1' }
  const { data } = await ask(edgeRequest('GET', '/agents/outdated', { query }), () => recorded('GET /agents/outdated'))
  t.same(data, { items: [{ id: '007', version: 'Wazuh v3.13.2' }], totalItems: 5 })
})

t.test('the platforms are those of all agents and of the manager, sorted and paged', async (t) => {
  const request = edgeRequest('GET', '/agents/summary/os', {
    query: { sort: '-os.platform', limit: '2', search: '!x' },
  })
  const { calls, data } = await ask(request, () => recorded('GET /agents/stats/distinct?fields=os.platform'))
  t.same(calls, ['GET /agents/stats/distinct?fields=os.platform&search=-x&limit=100000'])
  t.same(data, { items: ['windows', 'ubuntu'], totalItems: 6 })
})

t.test('agents are counted without the word for a missing value, but with the unknown node', async (t) => {
  const versions = 'GET /agents/stats/distinct?fields=version&sort=-version'
  const { data } = await askRecorded(
    'GET /agents/stats/distinct',
    { query: { fields: 'version', sort: '-version' } },
    versions,
  )
  t.match(data, { totalItems: 11 })
  t.same((data as { items: readonly unknown[] }).items.at(-1), { count: 2 })
  const nodes = await askRecorded(
    'GET /agents/stats/distinct',
    { query: { fields: 'node_name' } },
    'GET /agents/stats/distinct?fields=node_name',
  )
  t.same((nodes.data as { items: readonly unknown[] }).items.at(-1), { count: 2, node_name: 'unknown' })
  const platforms = await askRecorded('GET /agents/stats/distinct', {}, 'GET /agents/stats/distinct?fields=os.platform')
  t.ok((platforms.data as { items: readonly object[] }).items.some((item) => !('os' in item)))
})

t.test('select is used for fields that are not named, and does not cut the counts', async (t) => {
  const counts = () => success([{ version: 'Wazuh v4.5.4', count: 4 }], { total: 11 })
  const alone = await ask(edgeRequest('GET', '/agents/stats/distinct', { query: { select: 'version' } }), counts)
  t.same(alone.calls, ['GET /agents/stats/distinct?fields=version'])
  t.same(alone.data, { items: [{ version: 'Wazuh v4.5.4', count: 4 }], totalItems: 11 })
  const query = { fields: 'version', select: 'name' }
  const both = await ask(edgeRequest('GET', '/agents/stats/distinct', { query }), counts)
  t.same(both.calls, ['GET /agents/stats/distinct?fields=version'])
})

t.test('the key of an agent is a text', async (t) => {
  const key = () => success([{ id: '001', key: 'MDAx' }])
  const request = edgeRequest('GET', '/agents/:agent_id/key', { params: { agent_id: '001' } })
  t.same((await ask(request, key)).json, { error: 0, data: 'MDAx' })
})

t.test('the manager itself has no key', async (t) => {
  const parts = { params: { agent_id: '000' } }
  const { json } = await askRecorded('GET /agents/:agent_id/key', parts, 'GET /agents/000/key')
  t.same(json, { error: 1703, message: 'Action not available for Manager (Agent 000)' })
})

t.test('whether an agent has the files of its groups is one field', async (t) => {
  const parts = { params: { agent_id: '003' } }
  const { data } = await askRecorded('GET /agents/:agent_id/group/is_sync', parts, 'GET /agents/003/group/is_sync')
  t.same(data, { synced: true })
})

t.test('whether an unknown agent has them has its own code, as in the v3 layout', async (t) => {
  const request = edgeRequest('GET', '/agents/:agent_id/group/is_sync', { params: { agent_id: '999' } })
  const missing = { error: { code: 1701, message: 'Agent does not exist' }, id: ['999'] }
  const { json } = await ask(request, () => success([], { failed: [missing] }))
  t.same(json, { error: 1739, message: "Error getting agent's group sync" })
})

t.test('agents are sorted by their status as the v3 layout does: by their last message', async (t) => {
  const { calls } = await ask(edgeRequest('GET', '/agents', { query: { sort: '-status,id' } }), () => success([]))
  t.same(calls, ['GET /agents?sort=-lastKeepAlive,id'])
})
