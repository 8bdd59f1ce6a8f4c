/** Agent groups behind a node with the v4 layout. */
import t from 'tap'
import { edgeRequest } from '../../upstream/edge-request.ts'
import { ask, askRecorded, recorded, success } from './recorded.ts'

const groups = [
  { name: 'database', count: 2, mergedSum: 'a', configSum: 'b' },
  { name: 'default', count: 3, mergedSum: 'a', configSum: 'b' },
  { name: 'dmz', count: 2, mergedSum: 'a', configSum: 'b' },
]

t.test('conditions on groups are evaluated by the edge, with the checksums that the client asks for', async (t) => {
  const query = { q: 'count=2', limit: '1', hash: 'sha1' }
  const { calls, data } = await ask(edgeRequest('GET', '/agents/groups', { query }), () => success(groups))
  t.same(calls, ['GET /groups?hash=sha1&limit=100000'])
  t.same(data, { items: [groups[0]], totalItems: 2 })
})

t.test('a selection of fields of groups fails, as in the v3 layout', async (t) => {
  const { calls, json } = await ask(edgeRequest('GET', '/agents/groups', { query: { select: 'name' } }), () =>
    success([]),
  )
  t.same(calls, [])
  t.same(json, { error: 1000, message: 'Internal error' })
})

t.test('an algorithm that the node does not know is error 1723', async (t) => {
  const parts = { params: { group_id: 'default' }, query: { hash: 'foo' } }
  const { json } = await askRecorded('GET /agents/groups/:group_id/files', parts, 'GET /groups/default/files?hash=foo')
  t.same(json, { error: 1723, message: 'Hash algorithm not available' })
})

t.test('a group that does not exist is error 1710', async (t) => {
  const parts = { params: { group_id: 'nope' } }
  const whole = await askRecorded('GET /agents/groups/:group_id', parts, 'GET /groups/nope/agents')
  t.same(whole.json, { error: 1710, message: 'The group does not exist' })
  t.equal(whole.status, 200)
  const failed = await askRecorded('GET /agents/groups/:group_id/files', parts, 'GET /groups/nope/files')
  t.same(failed.json, whole.json)
})

t.test('the configuration of a group is paged by the edge', async (t) => {
  const parts = { params: { group_id: 'dmz' }, query: { offset: '1', limit: '1' } }
  const request = edgeRequest('GET', '/agents/groups/:group_id/configuration', parts)
  const items = ['a', 'b', 'c'].map((name) => ({ filters: { name }, config: {} }))
  const { calls, data } = await ask(request, () => success(items))
  t.same(calls, ['GET /groups/dmz/configuration'])
  t.same(data, { items: [items[1]], totalItems: 3 })
})

t.test('files of a group are sorted by several fields by the edge, by one field by the node', async (t) => {
  const of = (sort: string) =>
    edgeRequest('GET', '/agents/groups/:group_id/files', { params: { group_id: 'a' }, query: { sort } })
  const rows = [
    { filename: 'a', hash: '2' },
    { filename: 'b', hash: '1' },
  ]
  const one = await ask(of('-filename'), () => success(rows))
  t.same(one.calls, ['GET /groups/a/files?sort=-filename'])
  const several = await ask(of('hash,filename'), () => success(rows))
  t.same(several.calls, ['GET /groups/a/files?limit=100000'])
  t.same(several.data, { items: [rows[1], rows[0]], totalItems: 2 })
})

const file = (filename: string, query: Record<string, string> = {}) =>
  edgeRequest('GET', '/agents/groups/:group_id/files/:filename', { params: { group_id: 'default', filename }, query })

t.test('agent.conf is parsed to a collection, or is one line of XML', async (t) => {
  const parsed = await ask(file('agent.conf'), () => recorded('GET /groups/default/files/agent.conf/json'))
  t.same(parsed.calls, ['GET /groups/default/files/agent.conf/json'])
  t.same(parsed.data, { totalItems: 1, items: [{ filters: {}, config: {} }] })
  const xml = await ask(file('agent.conf', { format: 'xml' }), () =>
    recorded('GET /groups/default/files/agent.conf/xml'),
  )
  t.same(xml.calls, ['GET /groups/default/files/agent.conf/xml'])
  t.equal(xml.data, '<agent_config>  <!-- Shared agent configuration here --></agent_config>')
})

t.test('other files are parsed whatever format is asked for', async (t) => {
  const { calls, data } = await ask(file('ar.conf', { format: 'xml' }), () =>
    recorded('GET /groups/default/files/ar.conf/json'),
  )
  t.same(calls, ['GET /groups/default/files/ar.conf/json'])
  t.equal((data as readonly string[])[0], 'restart-ossec0 - restart-ossec.sh - 0')
})

t.test('an unknown type of file is error 1104', async (t) => {
  const { json } = await ask(file('agent.conf', { type: 'foo' }), () =>
    recorded('GET /groups/default/files/agent.conf/json?type=foo'),
  )
  t.match(json, { error: 1104 })
})

t.test('a group is created by its name in a body', async (t) => {
  const request = edgeRequest('PUT', '/agents/groups/:group_id', { params: { group_id: 'recg' } })
  const { calls, data } = await ask(request, ({ body }) => {
    t.equal(body?.bytes.toString(), '{"group_id":"recg"}')
    t.equal(body?.type, 'application/json')
    return recorded('POST /groups')
  })
  t.same(calls, ['POST /groups'])
  t.equal(data, "Group 'recg' created.")
})

t.test('the node takes agent.conf only', async (t) => {
  const body = { kind: 'upload', type: 'application/xml', bytes: Buffer.from('<agent_config/>') } as const
  const upload = (file_name: string) =>
    edgeRequest('POST', '/agents/groups/:group_id/files/:file_name', { params: { group_id: 'g', file_name }, body })
  const refused = await ask(upload('other.conf'), () => success([]))
  t.same(refused.calls, [])
  t.match(refused.json, { error: 1111 })
  const sent = await ask(upload('agent.conf'), ({ body: sentBody }) => {
    t.same(sentBody, { type: 'application/xml', bytes: body.bytes })
    return success([])
  })
  t.same(sent.calls, ['PUT /groups/g/configuration'])
  t.equal(sent.data, 'Agent configuration was updated successfully')
})

t.test('a configuration of more than 1 MiB is too large, as in the v3 layout', async (t) => {
  const MEBIBYTE = 1024 * 1024
  const uploads = ['configuration', 'files/:file_name'].map((rest) => (length: number) => {
    const params = { group_id: 'g', file_name: 'agent.conf' }
    const body = { kind: 'upload', type: 'application/xml', bytes: Buffer.alloc(length, ' ') } as const
    return ask(edgeRequest('POST', `/agents/groups/:group_id/${rest}`, { params, body }), () => success([]))
  })
  for (const upload of uploads) {
    const refused = await upload(MEBIBYTE + 1)
    t.same(refused.calls, [])
    t.equal(refused.status, 400)
    t.same(refused.json, { error: 701, message: 'Size of XML file is too long' })
    const sent = await upload(MEBIBYTE)
    t.same(sent.calls, ['PUT /groups/g/configuration'])
    t.match(sent.json, { error: 0 })
  }
})

const member = (query: Record<string, string>) =>
  edgeRequest('PUT', '/agents/:agent_id/group/:group_id', { params: { agent_id: '011', group_id: 'g' }, query })
const ALREADY = { error: { code: 1751, message: 'Could not assign agent to group' }, id: ['011'] }

t.test('an agent is added to a group, or gets it in place of all others', async (t) => {
  const added = await ask(member({}), () => success(['011']))
  t.same([added.calls, added.data], [['PUT /agents/011/group/g'], "Group 'g' added to agent '011'."])
  const set = await ask(member({ force_single_group: '' }), () => success(['011']))
  t.same(set.calls, ['PUT /agents/011/group/g?force_single_group=true'])
  t.equal(set.data, "Group 'g' set to agent '011'.")
})

t.test('an agent that is a member already is a success', async (t) => {
  const { json } = await ask(member({}), () => success([], { failed: [ALREADY] }))
  t.same(json, { error: 0, data: "Agent '011' already belongs to group 'g'." })
})

t.test('several agents are assigned; members already count, and failed ones are plain ids', async (t) => {
  const body = { kind: 'fields', fields: { ids: ['011', '12', '999'] } } as const
  const request = edgeRequest('POST', '/agents/group/:group_id', { params: { group_id: 'g' }, body })
  const missing = { error: { code: 1701, message: 'Agent does not exist' }, id: ['999'] }
  const { calls, data } = await ask(request, () => success(['012'], { failed: [ALREADY, missing] }))
  t.same(calls, ['PUT /agents/group?group_id=g&agents_list=011,012,999'])
  t.same(data, {
    msg: 'Some agents were not assigned to group g',
    affected_agents: ['011', '012'],
    failed_ids: ['999'],
  })
})

t.test('an agent that loses its last group is in the default one', async (t) => {
  const leave = (message: string) =>
    ask(
      edgeRequest('DELETE', '/agents/:agent_id/group/:group_id', { params: { agent_id: '012', group_id: 'recg2' } }),
      () => ({
        status: 200,
        type: 'application/json',
        body: Buffer.from(JSON.stringify({ message, error: 0 })),
      }),
    )
  const last = await leave("Agent '012' removed from 'recg2'. Agent reassigned to group default.")
  t.equal(last.data, 'Agent 012 set to group default.')
  const other = await leave("Agent '012' removed from 'recg2'.")
  t.equal(other.data, "Group 'recg2' unset for agent '012'.")
})

t.test('an agent does not belong to a group that does not exist', async (t) => {
  const parts = { params: { agent_id: '011', group_id: 'nope' } }
  const { json } = await askRecorded('DELETE /agents/:agent_id/group/:group_id', parts, 'DELETE /agents/011/group/nope')
  t.same(json, { error: 1734, message: 'Agent does not belong to the specified group' })
})

t.test('agents that leave a group are named, failed ones with their errors', async (t) => {
  const parts = { params: { group_id: 'recg' }, query: { ids: '011,999' } }
  const call = 'DELETE /agents/group?group_id=recg&agents_list=011,999'
  const { calls, data } = await askRecorded('DELETE /agents/group/:group_id', parts, call)
  t.same(calls, [call])
  t.same(data, {
    msg: 'Some agents were not removed from group recg',
    affected_agents: ['011'],
    failed_ids: [{ id: '999', error: { message: 'Agent does not exist: 999', code: 1701 } }],
  })
})

t.test('a group that does not exist fails for each agent of the list', async (t) => {
  const body = { kind: 'fields', fields: { ids: ['001', '002'] } } as const
  const request = edgeRequest('POST', '/agents/group/:group_id', { params: { group_id: 'nope' }, body })
  const { data } = await ask(request, () => recorded('PUT /agents/group?group_id=nope&agents_list=011'))
  t.same(data, { msg: 'Some agents were not assigned to group nope', affected_agents: [], failed_ids: ['001', '002'] })
})

t.test('agents have the order of the list of the request', async (t) => {
  const request = edgeRequest('DELETE', '/agents/group/:group_id', {
    params: { group_id: 'g' },
    query: { ids: '005,003,001,004' },
  })
  const failed = (code: number, id: string) => ({ error: { code, message: 'x' }, id: [id] })
  const { data } = await ask(request, () =>
    success(['001', '003'], { failed: [failed(1734, '004'), failed(1701, '005')] }),
  )
  t.match(data, { affected_agents: ['003', '001'], failed_ids: [{ id: '005' }, { id: '004' }] })
})
