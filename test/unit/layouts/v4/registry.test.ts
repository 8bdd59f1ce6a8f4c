/** Agents are added and removed behind a node with the v4 layout. */
import t from 'tap'
import type { EdgeRequest } from '../../../../src/core/request.ts'
import { edgeRequest } from '../../upstream/edge-request.ts'
import { ask, askRecorded, type Respond, recorded, success } from './recorded.ts'

const KEY = 'a1'.repeat(32)
const created = (id: string) => ({
  status: 200,
  type: 'application/json',
  body: Buffer.from(JSON.stringify({ data: { key: 'MDEx', id }, error: 0 })),
})

async function bodyOf(request: EdgeRequest): Promise<unknown> {
  let sent: unknown
  await ask(request, ({ body }) => {
    sent = JSON.parse(body?.bytes.toString() ?? '')
    return created('011')
  })
  return sent
}

const add = (fields: Record<string, unknown>) => edgeRequest('POST', '/agents', { body: { kind: 'fields', fields } })

t.test('a new agent is answered with its id and key in this order', async (t) => {
  const { calls, response } = await ask(add({ name: 'n1', ip: '10.0.0.1' }), () => created('011'))
  t.same(calls, ['POST /agents'])
  if (response.kind !== 'envelope') throw new Error('no JSON')
  t.equal(response.body.toString(), '{"error":0,"data":{"id":"011","key":"MDEx"}}')
})

t.test('without force no agent is replaced, whatever the settings of the node are', async (t) => {
  for (const force of [undefined, -1]) {
    const fields = { name: 'n1', ip: '10.0.0.1', ...(force !== undefined && { force }) }
    t.same(await bodyOf(add(fields)), { name: 'n1', ip: '10.0.0.1', force: { enabled: false } })
  }
})

t.test('force is the time since the last message of the replaced agent', async (t) => {
  t.match(await bodyOf(add({ name: 'n1', ip: 'any', force: 3600 })), {
    force: { enabled: true, after_registration_time: '0s', disconnected_time: { enabled: true, value: '3600s' } },
  })
  t.match(await bodyOf(add({ name: 'n1', ip: 'any', force: '0' })), {
    force: { enabled: true, after_registration_time: '0s', disconnected_time: { enabled: false } },
  })
})

t.test('the node takes no network as the address of a new agent', async (t) => {
  const { calls, status, json } = await ask(add({ name: 'n1', ip: '10.0.0.0/24' }), () => created('011'))
  t.same(calls, [])
  t.equal(status, 400)
  t.same(json, { error: 606, message: 'Param not valid. IP invalid.  Field: ip' })
})

t.test('names, addresses and ids in use have the codes of the v3 registry', async (t) => {
  const problem = (error: number) => ({
    status: 400,
    type: 'application/problem+json',
    body: Buffer.from(JSON.stringify({ title: 'Bad Request', detail: 'There is an agent: n1', error })),
  })
  for (const [v4, error, message] of [
    [1705, 9008, 'Duplicated name'],
    [1706, 9007, 'Duplicated IP'],
    [1708, 9012, 'Duplicated ID'],
  ] as const) {
    const { status, json } = await ask(add({ name: 'n1', ip: 'any' }), () => problem(v4))
    t.equal(status, 200)
    t.same(json, { error, message })
  }
})

t.test('the quick method names the agent in a parameter', async (t) => {
  const request = edgeRequest('PUT', '/agents/:agent_name', { params: { agent_name: 'q1' } })
  const { calls, data } = await ask(request, ({ body }) => {
    t.equal(body, undefined)
    return created('022')
  })
  t.same(calls, ['POST /agents/insert/quick?agent_name=q1'])
  t.same(data, { id: '022', key: 'MDEx' })
})

t.test('an inserted agent has a key of at least 64 letters and may have a network', async (t) => {
  const insert = (key: string) =>
    edgeRequest('POST', '/agents/insert', {
      body: { kind: 'fields', fields: { name: 'i', ip: '10.0.0.0/24', id: '950', key } },
    })
  const { calls, json } = await ask(insert('short'), () => created('950'))
  t.same(calls, [])
  t.same(json, { error: 1709, message: 'Too short key size (<64)' })
  t.match(await bodyOf(insert(KEY)), { id: '950', key: KEY, ip: '10.0.0.0/24' })
})

/** The node answers removals with this, and no longer lists the agents. */
const removing =
  (...replies: ReturnType<Respond>[]): Respond =>
  ({ method }) =>
    (method === 'DELETE' ? replies.shift() : undefined) ?? success([])

const remove = (query: Record<string, string>) => edgeRequest('DELETE', '/agents', { query })

t.test('removed and failed agents are counted', async (t) => {
  const call = 'DELETE /agents?agents_list=011,999&status=all&older_than=0s'
  const { calls, data } = await ask(remove({ ids: '011,999', older_than: '0s' }), removing(recorded(call)))
  t.same(calls, [call, 'GET /agents?agents_list=011&select=id&limit=1'])
  t.same(data, {
    msg: 'Some agents were not removed',
    affected_agents: ['011'],
    failed_ids: [{ id: '999', error: { message: 'Agent does not exist: 999', code: 1701 } }],
    older_than: '0s',
    total_affected_agents: 1,
    total_failed_ids: 1,
  })
})

t.test('an agent that does not meet the conditions says which', async (t) => {
  const { data } = await askRecorded(
    'DELETE /agents',
    { query: { ids: '012' } },
    'DELETE /agents?agents_list=012&status=all',
  )
  t.match(data, {
    failed_ids: [
      {
        id: '012',
        error: {
          code: 1731,
          message:
            "Agent is not eligible for removal: The agent has a status different to 'all' or the specified time frame 'older_than 7d' does not apply.",
        },
      },
    ],
    older_than: '7d',
  })
})

t.test('without ids all agents with the status are meant', async (t) => {
  const request = remove({ status: 'neverconnected,Pending', older_than: '9999d', purge: '' })
  const { calls, data } = await ask(request, () => success([]))
  t.same(calls, ['DELETE /agents?agents_list=all&status=never_connected,Pending&purge=true&older_than=9999d'])
  t.same(data, { msg: 'No agents were removed', affected_agents: [], older_than: '9999d', total_affected_agents: 0 })
})

t.test('a list without ids is never sent as all agents', async (t) => {
  const { calls, status, json } = await ask(remove({ ids: '', status: 'all' }), () => success([]))
  t.same(calls, [])
  t.equal(status, 400)
  t.match(json, { error: 604 })
})

const removeOne = (agent_id: string) => edgeRequest('DELETE', '/agents/:agent_id', { params: { agent_id } })

t.test('an agent is removed whatever its status and age are', async (t) => {
  const { calls, data } = await ask(removeOne('013'), removing(success(['013'])))
  t.same(calls, [
    'DELETE /agents?agents_list=013&status=all&older_than=0s',
    'GET /agents?agents_list=013&select=id&limit=1',
  ])
  t.same(data, { msg: 'All selected agents were removed', affected_agents: ['013'] })
})

t.test('an agent that does not exist has the code of the registry', async (t) => {
  for (const [agent_id, call] of [
    ['999', 'DELETE /agents?agents_list=998,999&status=all&older_than=0s'],
    ['000', 'DELETE /agents?agents_list=000&status=all&older_than=0s'],
  ] as const) {
    const { data } = await ask(removeOne(agent_id), () => recorded(call))
    const { failed_ids } = data as { failed_ids: readonly unknown[] }
    t.same(failed_ids.at(-1), { id: agent_id, error: { message: 'Agent ID not found', code: 9011 } })
  }
})

t.test('an agent that the node does not find in its database yet is removed with a second call', async (t) => {
  const notYet = { error: { code: 1731, message: 'Agent is not eligible for the action' }, id: ['950'] }
  const { calls, data } = await ask(removeOne('950'), removing(success([], { failed: [notYet] }), success(['950'])))
  t.equal(calls.filter((call) => call.startsWith('DELETE')).length, 2)
  t.same(data, { msg: 'All selected agents were removed', affected_agents: ['950'] })
})

t.test('a removal is answered when the database of the node no longer has the agent', async (t) => {
  let reads = 0
  const { calls, data } = await ask(removeOne('013'), ({ method }) => {
    if (method === 'DELETE') return success(['013'])
    reads += 1
    return success(reads < 3 ? [{ id: '013' }] : [])
  })
  t.equal(calls.length, 4)
  t.same(data, { msg: 'All selected agents were removed', affected_agents: ['013'] })
})

t.test('a removal is answered if the node does not answer the read after it', async (t) => {
  const { data } = await ask(removeOne('013'), ({ method }) =>
    method === 'DELETE' ? success(['013']) : { status: 200, type: 'application/json', body: Buffer.from('[') },
  )
  t.same(data, { msg: 'All selected agents were removed', affected_agents: ['013'] })
})
