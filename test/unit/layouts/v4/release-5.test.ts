/** v3 clients in front of release 5.0: what it has in another form is the same for them, and what it lacks is 938. */
import t from 'tap'
import { ask, items } from './recorded-node.ts'

const release5 = { version: '5.0.0' } as const

t.test('facts of the manager are those of the master as a node of the cluster', async (t) => {
  const daemons = {
    'wazuh-manager-analysisd': { ready: false, running: true },
    'wazuh-manager-clusterd': { ready: true, running: true },
    'wazuh-manager-db': { ready: false, running: false },
    'wazuh-manager-apid': { ready: true, running: true },
    ready: false,
  }
  const replies = { 'GET /cluster/master/status': { body: items([daemons]) } }
  const { calls, envelope } = await ask('GET', '/manager/status', { ...release5, replies })
  t.strictSame(calls, ['GET /cluster/master/status'])
  t.strictSame(envelope.data, { 'ossec-analysisd': 'running', 'wazuh-clusterd': 'running', 'wazuh-db': 'stopped' })
})

t.test('information has the cluster, which is always on', async (t) => {
  const own = { path: '/var/wazuh-manager', version: 'v5.0.0', type: 'server', tz_offset: '+0000', tz_name: 'UTC' }
  const { envelope } = await ask('GET', '/manager/info', {
    ...release5,
    replies: {
      'GET /cluster/master/info': { body: items([own]) },
      'GET /cluster/status': { body: { data: { running: 'yes' }, error: 0 } },
    },
  })
  t.match(envelope.data, { version: 'v5.0.0', name: 'master', cluster: { enabled: 'yes', running: 'yes' } })
})

t.test('the state of the cluster says that it is enabled', async (t) => {
  const replies = { 'GET /cluster/status': { body: { data: { running: 'no' }, error: 0 } } }
  const { envelope } = await ask('GET', '/cluster/status', { ...release5, replies })
  t.strictSame(envelope.data, { enabled: 'yes', running: 'no' })
})

t.test('daemons have their earlier names in logs', async (t) => {
  const entry = { timestamp: '2026-11-27T21:34:35Z', tag: 'wazuh-manager-remoted', level: 'info', description: 'x' }
  const path = 'GET /cluster/master/logs?tag=wazuh-manager-remoted'
  const { calls, envelope } = await ask('GET', '/manager/logs', {
    ...release5,
    query: { category: 'ossec-remoted' },
    replies: { [path]: { body: items([entry]) } },
  })
  t.strictSame(calls, [path])
  t.match(envelope.data, { items: [{ tag: 'ossec-remoted' }] })
})

t.test('summaries count no agent 000, with one call', async (t) => {
  const connection = { active: 3, disconnected: 1, never_connected: 1, pending: 1, total: 6 }
  const replies = { 'GET /agents/summary/status': { body: { data: { connection }, error: 0 } } }
  const { calls, envelope } = await ask('GET', '/agents/summary', { ...release5, replies })
  t.strictSame(calls, ['GET /agents/summary/status'])
  t.match(envelope.data, { Total: 6, Active: 3 })
})

t.test('a restart of the manager names the master', async (t) => {
  const replies = { 'PUT /cluster/restart?nodes_list=master': { status: 202, body: items(['master']) } }
  const { calls } = await ask('PUT', '/manager/restart', { ...release5, replies })
  t.strictSame(calls, ['PUT /cluster/restart?nodes_list=master'])
})

for (const [method, path, options] of [
  ['GET', '/rules', {}],
  ['GET', '/syscheck/:agent_id', { params: { agent_id: '001' } }],
  ['GET', '/experimental/syscollector/os', {}],
  ['GET', '/manager/stats', {}],
  ['GET', '/manager/files', { query: { path: 'etc/rules/local_rules.xml' } }],
  ['GET', '/agents', { query: { node_name: 'master' } }],
  ['PUT', '/active-response/:agent_id', { params: { agent_id: '001' } }],
] as const) {
  t.test(`${method} ${path} is refused without a call`, async (t) => {
    const calls: string[] = []
    await t.rejects(ask(method, path, { ...release5, ...options, seen: calls }), {
      code: 938,
      message: /release 5\.0\.0/,
    })
    t.strictSame(calls, [])
  })
}
