/** The summary of all agents, to which the node does not count agent 000. */
import t from 'tap'
import { edgeRequest } from '../../upstream/edge-request.ts'
import { ask, recorded, success } from './recorded.ts'

const debian11 = { name: 'Debian GNU/Linux', platform: 'debian', version: '11' }
const manager = { id: '000', node_name: 'master', os: debian11, version: 'Wazuh v4.5.4' }

async function summaryWith(rows: readonly unknown[]) {
  const request = edgeRequest('GET', '/summary/agents')
  const { calls, data } = await ask(request, ({ path }) => {
    return path.startsWith('/overview') ? recorded('GET /overview/agents') : success(rows)
  })
  return { calls, data: data as Record<string, { items: readonly Record<string, unknown>[]; totalItems: number }> }
}

t.test('the manager is added to the rows with its node, system and version', async (t) => {
  const { calls, data } = await summaryWith([manager])
  t.same(calls, [
    'GET /overview/agents',
    'GET /agents?agents_list=000&select=node_name,os.name,os.platform,os.version,version',
  ])
  t.same(data.nodes?.items[0], { node_name: 'master', count: 3 })
  t.same(data.agent_os?.items[0], { os: debian11, count: 3 })
  t.same(data.agent_version?.items[0], { version: 'Wazuh v4.5.4', count: 4 })
  for (const part of [data.nodes, data.agent_os, data.agent_version]) t.equal(part?.totalItems, 11)
  t.same(data.agent_status, { Total: 11, Active: 4, Disconnected: 5, 'Never connected': 2, Pending: 0 })
  t.equal(data.groups?.totalItems, 4)
})

t.test('a system that no agent has is a separate row', async (t) => {
  const { data } = await summaryWith([{ ...manager, os: { name: 'Amazon Linux', platform: 'amzn', version: '2' } }])
  t.same(data.agent_os?.items[0], { os: { name: 'Amazon Linux', platform: 'amzn', version: '2' }, count: 1 })
  t.equal(data.agent_os?.totalItems, 11)
})

t.test('agents that never connected are counted without a system and a version', async (t) => {
  const { data } = await summaryWith([manager])
  t.ok(data.agent_os?.items.some((row) => Object.keys(row).join() === 'count' && row.count === 2))
  t.ok(data.agent_version?.items.some((row) => Object.keys(row).join() === 'count' && row.count === 2))
  t.same(data.nodes?.items.at(-1), { node_name: 'unknown', count: 2 })
})

t.test('the last agent is one object with v3 dates', async (t) => {
  const { data } = await summaryWith([manager])
  t.match(data.last_registered_agent, { id: '008', status: 'Never connected', dateAdd: '2026-11-22 00:21:10' })
  t.notOk('group_config_status' in (data.last_registered_agent ?? {}))
})

/** What a node answers a caller who may not read agent 000: alone, it is refused, and among others it is left out. */
const withoutManager = {
  refused: () => recorded('GET /agents?agents_list=002', 'only001'),
  'left out': () => success([]),
}

for (const [how, reply] of Object.entries(withoutManager)) {
  t.test(`a caller who may not read the manager gets counts without it (${how})`, async (t) => {
    const ofNodes = await ask(edgeRequest('GET', '/summary/agents'), ({ path }) =>
      path.startsWith('/overview') ? recorded('GET /overview/agents') : reply(),
    )
    t.match(ofNodes.data, {
      nodes: { items: [{ node_name: 'master', count: 2 }], totalItems: 10 },
      agent_status: { Total: 10, Active: 3 },
    })
    const counts = await ask(edgeRequest('GET', '/agents/summary'), ({ path }) =>
      path.startsWith('/agents/summary') ? recorded('GET /agents/summary/status') : reply(),
    )
    t.same(counts.data, { Total: 10, Active: 3, Disconnected: 5, 'Never connected': 2, Pending: 0 })
  })
}

t.test('the counts of agents include the manager itself', async (t) => {
  const { calls, data } = await ask(edgeRequest('GET', '/agents/summary'), ({ path }) =>
    path.startsWith('/agents/summary') ? recorded('GET /agents/summary/status') : success([{ id: '000' }]),
  )
  t.same(calls, ['GET /agents/summary/status', 'GET /agents?agents_list=000&select=id'])
  t.same(data, { Total: 11, Active: 4, Disconnected: 5, 'Never connected': 2, Pending: 0 })
})

t.test('without an answer about the manager there is no summary', async (t) => {
  const failing = {
    status: 400,
    type: 'application/problem+json',
    body: Buffer.from('{"title":"a","detail":"b","error":3023}'),
  }
  const { json } = await ask(edgeRequest('GET', '/agents/summary'), ({ path }) =>
    path.startsWith('/agents/summary') ? recorded('GET /agents/summary/status') : failing,
  )
  t.match(json, { error: 3023 })
})
