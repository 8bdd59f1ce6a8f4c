/** v4 layout: facts of the cluster as a whole. */
import t from 'tap'
import { ask, items } from './recorded-node.ts'

const health = {
  info: { name: 'worker-1', type: 'worker', version: '4.5.4', ip: '10.78.0.11', n_active_agents: 1 },
  status: {
    sync_integrity_free: true,
    last_check_integrity: {
      date_start_master: '2026-11-22T00:43:01.993633Z',
      date_end_master: '2026-11-22T00:43:01.996816Z',
    },
    last_sync_integrity: {
      date_start_master: '2026-11-22T00:32:39.773844Z',
      date_end_master: '2026-11-22T00:32:39.780878Z',
      total_extra_valid: 3,
      total_files: { missing: 1, extra: 1, shared: 0 },
    },
    sync_agent_info_free: false,
    last_sync_agentinfo: {
      date_start_master: '2026-11-22T00:42:59.435826Z',
      date_end_master: 'n/a',
      n_synced_chunks: 2,
    },
    last_sync_agentgroup: {
      date_start: '2026-11-22T00:43:02.017667Z',
      date_end: '2026-11-22T00:43:02.026238Z',
      n_synced_chunks: 1,
    },
    last_sync_full_agentgroup: {
      date_start: '2026-11-22T00:23:42.279721Z',
      date_end: '2026-11-22T00:23:42.295465Z',
      n_synced_chunks: 1,
    },
    last_keep_alive: '2026-11-22T00:42:53.334987Z',
  },
}

t.test('the health of the cluster is one object with the names of the nodes', async (t) => {
  const { envelope } = await ask('GET', '/cluster/healthcheck')
  const { nodes, ...counts } = envelope.data as { nodes: Readonly<Record<string, unknown>> }
  t.strictSame(counts, { n_connected_nodes: 2 })
  t.strictSame(Object.keys(nodes).sort(), ['master', 'worker-1', 'worker-2'])
  t.strictSame(nodes.master, {
    info: { name: 'master', type: 'master', version: '4.5.4', ip: '10.78.0.10', n_active_agents: 1 },
  })
})

t.test('the synchronisation of a worker has the names and times of the v3 layout', async (t) => {
  const replies = { 'GET /cluster/healthcheck': { body: items([health]) } }
  const { envelope } = await ask('GET', '/cluster/healthcheck', { replies })
  t.same(envelope.data, {
    n_connected_nodes: 1,
    nodes: {
      'worker-1': {
        info: health.info,
        status: {
          sync_integrity_free: true,
          last_sync_integrity: {
            date_start_master: '2026-11-22 00:32:39.773844',
            date_end_master: '2026-11-22 00:32:39.780878',
            total_files: { missing: 1, extra: 1, shared: 0, extra_valid: 3 },
          },
          sync_agentinfo_free: false,
          last_sync_agentinfo: {
            date_start_master: '2026-11-22 00:42:59.435826',
            date_end_master: 'n/a',
            total_agentinfo: 2,
          },
          sync_extravalid_free: true,
          last_sync_agentgroups: {
            date_start_master: '2026-11-22 00:43:02.017667',
            date_end_master: '2026-11-22 00:43:02.026238',
            total_agentgroups: 1,
          },
          last_keep_alive: '2026-11-22 00:42:53.334987',
        },
      },
    },
  })
})

t.test('the health of one node is requested by its name, and an unknown name gives none', async (t) => {
  const [known, unknown] = await Promise.all(
    ['worker-1', 'nope'].map((node) => ask('GET', '/cluster/healthcheck', { query: { node } })),
  )
  t.match(known?.envelope.data, { n_connected_nodes: 1, nodes: { 'worker-1': { info: { type: 'worker' } } } })
  t.strictSame(unknown?.envelope, { error: 0, data: { n_connected_nodes: 0, nodes: {} } })
})

t.test('the configuration of the cluster is one object', async (t) => {
  const { envelope } = await ask('GET', '/cluster/config')
  t.match(envelope.data, { name: 'wazuh', node_name: 'master', port: 1516, hidden: 'no', disabled: false })
})

t.test('a worker that answers for the master gives the configuration of the master', async (t) => {
  const path = '/cluster/master/configuration/com/cluster'
  const replies = { [`GET ${path}`]: { body: items([{ name: 'wazuh', node_name: 'master' }]) } }
  const { calls, envelope } = await ask('GET', '/cluster/config', { at: 'worker-1', replies })
  t.strictSame(calls, [`GET ${path}`])
  t.strictSame(envelope.data, { name: 'wazuh', node_name: 'master' })
})

t.test('the local node is the master, also if a worker answers for it', async (t) => {
  const expected = { node: 'master', cluster: 'wazuh', type: 'master' }
  t.strictSame((await ask('GET', '/cluster/node')).envelope.data, expected)
  const replies = {
    'GET /cluster/local/info': { body: items([{ node: 'worker-1', cluster: 'wazuh', type: 'worker' }]) },
  }
  t.strictSame((await ask('GET', '/cluster/node', { at: 'worker-1', replies })).envelope.data, expected)
})

t.test('the state of the cluster passes unchanged', async (t) => {
  t.strictSame((await ask('GET', '/cluster/status')).envelope, { error: 0, data: { enabled: 'yes', running: 'yes' } })
})

t.test('nodes are a collection', async (t) => {
  const { calls, envelope } = await ask('GET', '/cluster/nodes', { query: { type: 'all', limit: '1' } })
  t.strictSame(calls, ['GET /cluster/nodes?limit=1'])
  t.strictSame(envelope.data, {
    items: [{ name: 'master', type: 'master', version: '4.5.4', ip: '10.78.0.10' }],
    totalItems: 3,
  })
})

t.test('an unknown type of node is the v3 error', async (t) => {
  const { status, envelope } = await ask('GET', '/cluster/nodes', { query: { type: 'foo' } })
  t.strictSame({ status, ...envelope }, { status: 200, error: 1728, message: 'Invalid node type' })
})

t.test('one node is an object with all fields, whatever is selected', async (t) => {
  const { calls, envelope } = await ask('GET', '/cluster/nodes/:node_name', {
    params: { node_name: 'worker-1' },
    query: { select: 'name' },
  })
  t.strictSame(calls, ['GET /cluster/nodes?nodes_list=worker-1'])
  t.strictSame(envelope.data, { name: 'worker-1', type: 'worker', version: '4.5.4', ip: '10.78.0.11' })
})

t.test('one node that does not exist is the error of this endpoint', async (t) => {
  const { status, envelope } = await ask('GET', '/cluster/nodes/:node_name', { params: { node_name: 'nope' } })
  t.strictSame({ status, ...envelope }, { status: 200, error: 1730, message: 'Node does not exist' })
})
