/** v4 layout: facts of a node under `/manager/…` and `/cluster/:node_id/…`. */
import t from 'tap'
import { ask, items } from './recorded-node.ts'

const unknown = { params: { node_id: 'nope' } }
const worker = { params: { node_id: 'worker-1' } }

const released = {
  path: '/var/ossec',
  version: 'v4.5.4',
  compilation_date: '2026-11-02T00:01:00+00:00',
  type: 'server',
  max_agents: 'unlimited',
  openssl_support: 'yes',
  tz_offset: '+0000',
  tz_name: 'UTC',
}

t.test('information about the master has the fields of the v3 layout, in its order', async (t) => {
  const { calls, envelope } = await ask('GET', '/manager/info', {
    replies: { 'GET /manager/info': { body: items([released]) } },
  })
  t.equal(
    JSON.stringify(envelope.data),
    JSON.stringify({
      path: '/var/ossec',
      version: 'v4.5.4',
      compilation_date: 'Mon Nov  2 00:01:00 UTC 2026',
      type: 'server',
      max_agents: 'unlimited',
      openssl_support: 'yes',
      ruleset_version: '454',
      tz_offset: '+0000',
      tz_name: 'UTC',
      name: 'master',
      cluster: { enabled: 'yes', running: 'yes', name: 'wazuh', node_name: 'master', node_type: 'master' },
    }),
  )
  t.strictSame(calls, ['GET /manager/info', 'GET /cluster/status', 'GET /cluster/local/info'])
})

t.test('information about a worker names the worker', async (t) => {
  const { calls, envelope } = await ask('GET', '/cluster/:node_id/info', worker)
  t.strictSame(calls, ['GET /cluster/worker-1/info', 'GET /cluster/local/info'])
  t.match(envelope.data, {
    name: 'worker-1',
    cluster: { enabled: 'yes', running: 'yes', name: 'wazuh', node_name: 'worker-1', node_type: 'worker' },
  })
})

t.test('information about a manager without a cluster says so', async (t) => {
  const replies = { 'GET /cluster/status': { body: { data: { enabled: 'no', running: 'no' }, error: 0 } } }
  const { calls, envelope } = await ask('GET', '/manager/info', { replies, workers: [] })
  t.match(envelope, { error: 0, data: { name: 'master' } })
  t.strictSame((envelope.data as { cluster: unknown }).cluster, { enabled: 'no', running: 'no' })
  t.notOk(calls.includes('GET /cluster/local/info'))
})

t.test('information is refused as a whole if a part of it is', async (t) => {
  const denied = { title: 'Permission Denied', detail: 'Permission denied: Resource type: *:*', error: 4000 }
  const replies = { 'GET /cluster/status': { status: 403, type: 'application/problem+json', body: denied } }
  const { status, envelope } = await ask('GET', '/manager/info', { replies })
  t.match({ status, ...envelope }, { status: 403, error: 4000, message: 'Permission denied' })
})

for (const part of ['info', 'status', 'logs', 'logs/summary', 'stats', 'stats/weekly', 'stats/remoted'] as const) {
  t.test(`an unknown node has no ${part}`, async (t) => {
    const { status, envelope } = await ask('GET', `/cluster/:node_id/${part}`, {
      ...unknown,
      replies: { 'GET /cluster/nope/logs': { body: items([], [['nope', 1730, 'Node does not exist']]) } },
    })
    t.strictSame({ status, ...envelope }, { status: 200, error: 3022, message: 'Unknown node ID' })
  })
}

t.test('daemons have their v3 names', async (t) => {
  const { envelope } = await ask('GET', '/cluster/:node_id/status', worker)
  t.strictSame(Object.keys(envelope.data as object).slice(0, 2), ['ossec-agentlessd', 'ossec-analysisd'])
  t.same(envelope.data, {
    'ossec-agentlessd': 'stopped',
    'ossec-analysisd': 'running',
    'ossec-authd': 'running',
    'ossec-csyslogd': 'stopped',
    'ossec-dbd': 'stopped',
    'ossec-monitord': 'running',
    'ossec-execd': 'running',
    'ossec-integratord': 'stopped',
    'ossec-logcollector': 'running',
    'ossec-maild': 'stopped',
    'ossec-remoted': 'running',
    'ossec-reportd': 'stopped',
    'ossec-syscheckd': 'running',
    'wazuh-clusterd': 'running',
    'wazuh-modulesd': 'running',
    'wazuh-db': 'running',
  })
})

t.test('statistics of a day are an array, and the day is sent with hyphens', async (t) => {
  const { calls, envelope } = await ask('GET', '/manager/stats', { query: { date: '20261121' } })
  t.strictSame(calls, ['GET /manager/stats?date=2026-11-21'])
  t.match(envelope.data, [{ hour: 0, alerts: [{ sigid: 502, level: 3, times: 4 }], totalAlerts: 7 }])
  t.equal((envelope.data as unknown[]).length, 24)
})

t.test('a day without statistics is the v3 error', async (t) => {
  const { status, envelope } = await ask('GET', '/cluster/:node_id/stats', { ...worker, query: { date: '20200101' } })
  t.strictSame({ status, ...envelope }, { status: 200, error: 1308, message: 'Stats file has not been created yet' })
})

t.test('statistics of the week are one object', async (t) => {
  const { envelope } = await ask('GET', '/manager/stats/weekly')
  t.strictSame(Object.keys(envelope.data as object), ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'])
  t.match(envelope.data, { Sun: { interactions: 24 }, Sat: { interactions: 30 } })
})

t.test('averages of the hours are one object', async (t) => {
  const { envelope } = await ask('GET', '/manager/stats/hourly')
  t.match(envelope.data, { averages: [10, 11, 12], interactions: 34 })
})

t.test('counters are whole numbers, without those that the v3 layout does not have', async (t) => {
  const [analysisd, remoted] = await Promise.all([
    ask('GET', '/cluster/:node_id/stats/analysisd', worker),
    ask('GET', '/cluster/:node_id/stats/remoted', worker),
  ])
  t.match(analysisd.envelope.data, { total_events_decoded: 244, syscheck_queue_size: 16384 })
  const names = Object.keys(analysisd.envelope.data as object)
  t.strictSame(
    names.filter((name) => /^(?:dbsync|upgrade)_|_edps$/.test(name)),
    [],
  )
  t.strictSame(remoted.envelope.data, {
    queue_size: 0,
    total_queue_size: 131072,
    tcp_sessions: 1,
    evt_count: 130,
    ctrl_msg_count: 30,
    discarded_count: 0,
    recv_bytes: 40320,
    dequeued_after_close: 0,
  })
})
